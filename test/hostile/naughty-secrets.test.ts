import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, secretPath, unique } from "../harness/fixtures.ts";
import type { Realm, Secret, SecretVersion } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { isPlain, isText, NAUGHTY_STRINGS } from "./naughty-strings.ts";

const KEY = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[A-Za-z0-9_./-]{1,255}$/;

let server: Server;
let client: Api;
let alice: Person;
let slug: string;

before(async () => {
	server = await startServer({ env: { SVC_LIMITS_REALMS_PER_ACCOUNT: "10000" } });
	client = api(server);
	alice = await person(client, "alice");
	slug = (await realm(client, alice)).slug;
});
after(() => server.close());

function set(body: object): Promise<Answer<Secret>> {
	return client.post(`/realms/${slug}/secrets`, body, { token: alice.token });
}

/** Runs the check on every string; reports those that failed, with the reason. */
async function onEveryString(check: (text: string) => Promise<void>): Promise<void> {
	const failures = await Promise.all(
		NAUGHTY_STRINGS.map((text) =>
			check(text).then(
				() => [],
				(error: unknown) => [`${JSON.stringify(text.slice(0, 40))}: ${String(error).slice(0, 200)}`],
			),
		),
	);
	assert.deepEqual(failures.flat(), []);
}

test("every string comes back as a value byte for byte, or is refused because it is no text", async () => {
	await onEveryString(async (value) => {
		const key = unique("VALUE");
		const answer = await set({ key, value, environment: "prod" });
		if (!isText(value)) return refused(answer, 400);
		ok(answer, 201);
		const { token } = alice;
		assert.equal(ok(await client.get<Secret>(`${secretPath(slug, key)}?env=prod`, { token })).value, value);
		assert.deepEqual(ok(await client.get(`/eso/${slug}/${key}`, { token })), { value });
	});
});

test("every string comes back out of its ciphertext", async () => {
	await onEveryString(async (value) => {
		const { token } = alice;
		const answer = await client.post<{ ciphertext: string }>("/encrypt", { value }, { token });
		if (!isText(value)) return refused(answer, 400);
		const key = unique("SEALED");
		ok(await set({ key, value: ok(answer).ciphertext, pre_encrypted: true }), 201);
		assert.equal(ok(await client.get<Secret>(secretPath(slug, key), { token })).value, value);
	});
});

test("every string is a key when the rule for keys says so, and else it is refused", async () => {
	await onEveryString(async (key) => {
		const answer = await set({ key, value: "a value", environment: "test" });
		if (!KEY.test(key)) return refused(answer, 400);
		assert.equal(ok(answer, 201).key, key);
		const read = await client.get<Secret>(`${secretPath(slug, key)}?env=test`, { token: alice.token });
		assert.equal(ok(read).key, key);
	});
});

test("every string in the path of a secret is answered", async () => {
	await onEveryString(async (text) => {
		if (!isText(text)) return;
		const answer = await client.get(`${secretPath(slug, text)}?env=staging`, { token: alice.token });
		assert.ok([400, 404].includes(answer.status), `${answer.status} ${answer.text}`);
	});
});

test("every string in a query is answered", async () => {
	await onEveryString(async (text) => {
		if (!isText(text)) return;
		const query = encodeURIComponent(text);
		const { token } = alice;
		refused(await client.get(`/realms/${slug}/secrets?env=${query}`, { token }), 400, "invalid_environment");
		const limited = await client.get(`/realms?limit=${query}`, { token });
		if (/^\+?(?:0*[1-9]\d*|1\.00|1e2|0b1)$/i.test(text)) assert.ok([200, 400].includes(limited.status));
		else refused(limited, 400, "invalid_limit");
		refused(await client.get(`/realms?cursor=${query}`, { token }), 400, "invalid_cursor");
		for (const filter of ["actor", "type", "realm"]) {
			const answer = await client.get(`/audit/events?${filter}=${query}`, { token });
			assert.ok([200, 400, 404].includes(answer.status), answer.text);
		}
	});
});

test("every string comes back as a comment, or is refused", async () => {
	await onEveryString(async (comment) => {
		const key = unique("COMMENT");
		const answer = await set({ key, value: "a value", comment });
		if (answer.status === 400 && !isPlain(comment)) return refused(answer, 400);
		ok(answer, 201);
		const path = `${secretPath(slug, key)}/versions`;
		const { versions } = ok(await client.get<{ versions: SecretVersion[] }>(path, { token: alice.token }));
		assert.equal(versions[0]?.comment, comment);
	});
});

test("every string comes back as name and description of a realm, or is refused", async () => {
	await onEveryString(async (text) => {
		for (const field of ["name", "description"] as const) {
			const body = { slug: unique("naughty"), name: "A realm", [field]: text };
			const answer = await client.post<Realm>("/realms", body, { token: alice.token });
			if (answer.status === 400 && !isPlain(text)) return refused(answer, 400);
			assert.equal(ok(answer, 201)[field], text);
			assert.equal(ok(await client.get<Realm>(`/realms/${body.slug}`, { token: alice.token }))[field], text);
		}
	});
});

test("every string is a slug when the rule for slugs says so, and else it is refused", async () => {
	await onEveryString(async (text) => {
		const answer = await client.post("/realms", { slug: text, name: "A realm" }, { token: alice.token });
		if (/^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])$/.test(text) && !text.includes("\n")) ok(answer, 201);
		else refused(answer, 400, isText(text) ? "invalid_slug" : undefined);
	});
});

test("the log is still one JSON object a line, and the events can all be read", async () => {
	assert.ok((await events(client, alice)).length > NAUGHTY_STRINGS.length);
	for (const line of server
		.stderr()
		.split("\n")
		.filter((one) => one !== ""))
		assert.doesNotThrow(() => JSON.parse(line), line);
});
