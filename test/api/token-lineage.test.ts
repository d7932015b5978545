/* The tokens that a token made end with it; a limited token manages only itself and the tokens it made. Design: §13 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, ending, type Person, person, realm } from "../harness/fixtures.ts";
import type { ApiToken } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const ALL = "read,write,delete";

let server: Server;
let client: Api;
let root: Person;
let alice: Person;
/** Slug of one of Alice's realms. */
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	alice = await person(client, "alice");
	({ slug } = await realm(client, alice));
});
after(() => server.close());

function mint(maker: Pick<ApiToken, "token">, body: object = {}): Promise<Answer<ApiToken>> {
	return client.post("/auth/tokens", { name: "minted", scopes: ALL, ...body }, { token: maker.token });
}

const child = async (maker: Pick<ApiToken, "token">, body: object = {}) => ok(await mint(maker, body), 201);

/** Tells whether a token lets anybody in: every token with the scope read may list tokens. */
async function lives({ token }: Pick<ApiToken, "token">): Promise<boolean> {
	const { status } = await client.get("/auth/tokens", { token });
	assert.ok(status === 200 || status === 401, String(status));
	return status === 200;
}

const revoke = (id: string, { token }: Pick<ApiToken, "token">) => client.delete(`/auth/tokens/${id}`, { token });

async function listed({ token }: Pick<ApiToken, "token">): Promise<string[]> {
	const query = "/auth/tokens?limit=100&include_total=true";
	const { tokens, pagination } = ok(
		await client.get<{ tokens: ApiToken[]; pagination: { total: number } }>(query, { token }),
	);
	assert.equal(tokens.length, pagination.total);
	return tokens.map(({ id }) => id);
}

/** Makes three generations under one token: `[first, second, second's sibling, third, fourth]`. */
async function family(limits: object = {}): Promise<ApiToken[]> {
	const first = await apiToken(client, alice, ALL, limits);
	const second = await child(first);
	const third = await child(second);
	return [first, second, await child(first), third, await child(third)];
}

/** Ways to limit a token. */
const LIMITS: Record<string, () => object> = {
	"to a realm": () => ({ realm: slug }),
	"to an environment": () => ({ environment: "dev" }),
	"to roles of engines": () => ({ realm: slug, engines: ["totp"] }),
	"in time": () => ({ expires_at: "2090-01-01T00:00:00Z" }),
};

test("a token that is revoked takes with it what it made, however deep, and nothing else", async () => {
	const [first, second, ...rest] = await family();
	const [sibling] = rest;
	const other = await apiToken(client, alice, ALL);
	assert.ok(first && second && sibling);
	ok(await revoke(second.id, alice));
	assert.deepEqual(await Promise.all([first, second, ...rest].map(lives)), [true, false, true, false, false]);
	ok(await revoke(first.id, first));
	assert.deepEqual(await Promise.all([first, sibling, other].map(lives)), [false, false, true]);
	const [last, before] = await events(client, alice, "type=auth.token.revoked");
	assert.deepEqual([before?.data.token_revoked, before?.data.also_ended], [second.id, 2]);
	assert.deepEqual([last?.data.token_revoked, last?.data.also_ended], [first.id, 1]);
	ok(await revoke(other.id, alice));
	assert.ok(!("also_ended" in ((await events(client, alice, "type=auth.token.revoked"))[0]?.data ?? {})));
});

test("a token that is revoked takes with it what is being made with it", async () => {
	const first = await apiToken(client, alice, ALL);
	const minted = Array.from({ length: 20 }, () => mint(first));
	ok(await revoke(first.id, alice));
	for (const { status, body } of await Promise.all(minted)) if (status === 201) assert.equal(await lives(body), false);
});

test("a token that ends takes with it what it made", async () => {
	const [maker, end_ms] = await ending((expires_at) => mint(alice, { expires_at }));
	const answer = await mint(maker);
	if (answer.status === 201) {
		const made = answer.body;
		assert.equal(Date.parse(made.expires_at ?? ""), end_ms);
		await pause(Math.max(0, end_ms - Date.now() + 50));
		assert.equal(await lives(made), false);
	}
	await pause(Math.max(0, end_ms - Date.now() + 50));
	assert.equal(await lives(maker), false);
});

test("revoking access as the instance admin also revokes what that access made, but not the token that asks", async () => {
	const line = await family({ realm: slug });
	ok(await client.post("/revoke", { realm: slug }, { token: root.token }));
	assert.deepEqual(
		await Promise.all(line.map(lives)),
		line.map(() => false),
	);
	const maker = await apiToken(client, root, ALL);
	const asking = await child(maker);
	const made = await child(asking);
	const { tokens } = ok(
		await client.post<{ tokens: number }>("/revoke", { user_id: root.id }, { token: asking.token }),
	);
	assert.equal(tokens, 2);
	assert.deepEqual(await Promise.all([maker, asking, made].map(lives)), [false, true, false]);
	root = { ...root, token: asking.token };
});

for (const [how, limits] of Object.entries(LIMITS)) {
	test(`a token that is limited ${how} lists itself and what it made, and revokes nothing else of its owner's`, async () => {
		const free = await apiToken(client, alice, ALL);
		const [maker, token, sibling, ...made] = await family(limits());
		assert.ok(maker && token && sibling);
		assert.deepEqual(
			await listed(token),
			[token, ...made].map(({ id }) => id),
		);
		for (const { id } of [free, maker, sibling]) refused(await revoke(id, token), 403, "insufficient_scope");
		assert.deepEqual(await Promise.all([free, maker, sibling].map(lives)), [true, true, true]);
		for (const id of [crypto.randomUUID(), (await apiToken(client, root, "read")).id])
			refused(await revoke(id, token), 404, "not_found");
		ok(await revoke(made[1]?.id ?? "", token));
		assert.deepEqual(await Promise.all([token, ...made].map(lives)), [true, true, false]);
		ok(await revoke(made[0]?.id ?? "", maker));
		ok(await revoke(token.id, token));
		assert.deepEqual(await Promise.all([free, maker, sibling, token].map(lives)), [true, true, true, false]);
		assert.deepEqual(await listed(maker), [maker.id, sibling.id]);
		assert.ok((await listed(free)).includes(maker.id), "one without limits manages all of its owner's");
		ok(await revoke(maker.id, free));
	});
}

test("a limited token needs the scopes, too", async () => {
	const reading = await apiToken(client, alice, "read", { realm: slug });
	const made = await child(reading, { scopes: "read" });
	refused(await revoke(made.id, reading), 403, "insufficient_scope");
	const writing = await apiToken(client, alice, "write", { realm: slug });
	refused(await client.get("/auth/tokens", { token: writing.token }), 403, "insufficient_scope");
	ok(await revoke(reading.id, reading));
	assert.equal(await lives(made), false);
});

test("a list of a limited token's has pages, too", async () => {
	const maker = await apiToken(client, alice, ALL, { realm: slug });
	const made: string[] = [maker.id];
	for (let count = 0; count < 5; count++) made.push((await child(maker)).id);
	const found: string[] = [];
	let cursor = "";
	do {
		const path: string = `/auth/tokens?limit=2${cursor}`;
		const { tokens, pagination } = ok(
			await client.get<{ tokens: ApiToken[]; pagination: { next_cursor?: string } }>(path, { token: maker.token }),
		);
		found.push(...tokens.map(({ id }) => id));
		const { next_cursor } = pagination;
		cursor = next_cursor === undefined ? "" : `&cursor=${encodeURIComponent(next_cursor)}`;
		if (next_cursor !== undefined)
			refused(await client.get(path.replace(/&.*/, "") + cursor, { token: alice.token }), 400, "invalid_cursor");
	} while (cursor !== "");
	assert.deepEqual(found, made);
});
