import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, ending, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { ApiToken, Realm } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const HOUR_MS = 3_600_000;

let server: Server;
let client: Api;
let alice: Person;
let mine: Realm;
let other: Realm;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
	mine = await realm(client, alice);
	other = await realm(client, alice);
	for (const { slug } of [mine, other]) {
		for (const environment of ["dev", "prod"]) {
			await secret(client, alice, slug, "KEY", "a value", { environment });
		}
	}
});
after(() => server.close());

function read(token: string, { slug }: Realm, environment: string): Promise<Answer> {
	return client.get(`${secretPath(slug, "KEY")}?env=${environment}`, { token });
}

function mint(token: string, body: object): Promise<Answer<ApiToken>> {
	return client.post("/auth/tokens", { name: "minted", ...body }, { token });
}

/** Fails unless the answer is forbidden or not found. */
function kept(answer: Answer): void {
	assert.ok([403, 404].includes(answer.status), answer.text);
}

test("a token of one realm serves that realm alone, on every way to a value", async () => {
	const { token } = await apiToken(client, alice, "read,write,delete", { realm: mine.slug });
	ok(await read(token, mine, "dev"));
	kept(await read(token, other, "dev"));
	kept(await client.get(`/realms/${other.slug}/secrets`, { token }));
	kept(await client.get(`/eso/${other.slug}`, { token }));
	kept(await client.get(`/eso/${other.slug}/KEY`, { token }));
	kept(await client.post(`/realms/${other.slug}/secrets`, { key: "KEY", value: "changed" }, { token }));
	kept(await client.delete(secretPath(other.slug, "KEY"), { token }));
	kept(await client.delete(`/realms/${other.slug}`, { token }));
	ok(await read(alice.token, other, "dev"));
});

test("a token of one environment serves that environment alone, in the list too", async () => {
	const { token } = await apiToken(client, alice, "read,write,delete", { realm: mine.slug, environment: "dev" });
	ok(await read(token, mine, "dev"));
	kept(await read(token, mine, "prod"));
	kept(await client.get(`/eso/${mine.slug}/KEY`, { token }));
	kept(await client.delete(`${secretPath(mine.slug, "KEY")}?env=prod`, { token }));
	const list = await client.get(`/realms/${mine.slug}/secrets`, { token });
	assert.ok(!list.text.includes('"prod"'), list.text);
});

test("a token for a realm that the caller is not in cannot be made", async () => {
	const bob = await person(client, "bob");
	refused(await mint(bob.token, { realm: mine.slug }), 404, "not_found");
	refused(await mint(bob.token, { realm: "no-such-realm" }), 404, "not_found");
});

test("a minted token cannot leave the realm and environment of its maker", async () => {
	const maker = await apiToken(client, alice, "read", { realm: mine.slug, environment: "dev" });
	for (const wider of [{}, { realm: other.slug }, { realm: mine.slug }, { realm: mine.slug, environment: "prod" }]) {
		const answer = await mint(maker.token, wider);
		if (answer.status !== 201) {
			kept(answer);
			continue;
		}
		kept(await read(answer.body.token, mine, "prod"));
		kept(await read(answer.body.token, other, "dev"));
	}
	const minted = ok(await mint(maker.token, { realm: mine.slug, environment: "dev" }), 201);
	ok(await read(minted.token, mine, "dev"));
});

test("a minted token cannot live longer than its maker", async () => {
	const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
	const maker = await apiToken(client, alice, "read", { expires_at });
	for (const longer of [{}, { expires_at: new Date(Date.now() + 2 * HOUR_MS).toISOString() }]) {
		const answer = await mint(maker.token, longer);
		if (answer.status === 201) {
			assert.ok(Date.parse(answer.body.expires_at ?? "9999-12-31") <= Date.parse(expires_at), answer.text);
		} else refused(answer, 403);
	}
});

test("a token stops working when it expires", async () => {
	const [{ token }, end_ms] = await ending((expires_at) => mint(alice.token, { scopes: "read", expires_at }));
	let answer = await client.get("/realms", { token });
	while (answer.status === 200 && Date.now() < end_ms + HOUR_MS / 60) {
		await pause(50);
		answer = await client.get("/realms", { token });
	}
	refused(answer, 401, "unauthorized");
	assert.ok(Date.now() >= end_ms, "not before its time");
});
