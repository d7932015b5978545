import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, ending, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

interface Difference {
	readonly key: string;
	readonly status: string;
	readonly from_version: number | null;
	readonly to_version: number | null;
	readonly from_expires_at: string | null;
	readonly to_expires_at: string | null;
}

const EXPIRES = "2100-01-31T00:00:00.000Z";

let server: Server;
let client: Api;
let ada: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
});
after(() => server.close());

/** Makes a realm with a key of each kind in staging and prod. */
async function start(): Promise<void> {
	({ slug } = await realm(client, ada));
	const set = (key: string, value: string, environment: string, more = {}) =>
		secret(client, ada, slug, key, value, { environment, ...more });
	await set("SAME", "canary-1", "staging");
	await set("SAME", "canary-1", "prod");
	await set("OTHER", "canary-old", "prod");
	await set("OTHER", "canary-2", "staging");
	await set("OTHER", "canary-3", "staging", { comment: "why", expires_at: EXPIRES });
	await set("NEW/key", "canary-4", "staging");
	await set("GONE", "canary-5", "prod");
}

const diffPath = (from: string, to: string) => `/realms/${slug}/diff?from=${from}&to=${to}`;

async function diff(from = "staging", to = "prod", token = ada.token): Promise<readonly Difference[]> {
	return ok(await client.get<{ secrets: Difference[] }>(diffPath(from, to), { token })).secrets;
}

const promote = (secrets: readonly object[], more = {}, token = ada.token) =>
	client.post<{ secrets: Secret[] }>(
		`/realms/${slug}/promote`,
		{ from: "staging", to: "prod", secrets, ...more },
		{ token },
	);

const readValue = async (key: string, environment = "prod") =>
	(await client.get<Secret>(`${secretPath(slug, key)}?env=${environment}`, { token: ada.token })).body.value;

test("a comparison says which keys differ and which versions were compared, and no value", async () => {
	await start();
	const answer = await client.get(diffPath("staging", "prod"), { token: ada.token });
	assert.doesNotMatch(answer.text, /canary/);
	const nothing = { from_expires_at: null, to_expires_at: null };
	assert.deepEqual(await diff(), [
		{ key: "GONE", status: "only_in_to", from_version: null, to_version: 1, ...nothing },
		{ key: "NEW/key", status: "only_in_from", from_version: 1, to_version: null, ...nothing },
		{ key: "OTHER", status: "different", from_version: 2, to_version: 1, ...nothing, from_expires_at: EXPIRES },
		{ key: "SAME", status: "equal", from_version: 1, to_version: 1, ...nothing },
	]);
	assert.deepEqual(
		(await diff("prod", "staging")).map(({ status }) => status),
		["only_in_from", "only_in_to", "different", "equal"],
	);
	assert.deepEqual(await diff("dev", "test"), []);
	const [event] = await events(client, ada, `realm=${slug}&type=secret.diff`);
	assert.partialDeepStrictEqual(event?.data, { environment: "dev", to_environment: "test", count: 0 });
});

test("ciphertext is compared as it is read, and stays ciphertext when it is promoted", async () => {
	await start();
	const { ciphertext } = ok(
		await client.post<{ ciphertext: string }>("/encrypt", { value: "canary-1" }, { token: ada.token }),
	);
	await secret(client, ada, slug, "SAME", ciphertext, { environment: "staging", pre_encrypted: true });
	assert.equal((await diff()).find(({ key }) => key === "SAME")?.status, "equal");
	ok(await promote([{ key: "SAME" }]));
	assert.equal(await readValue("SAME"), "canary-1");
	const [event] = await events(client, ada, `realm=${slug}&type=secret.set`);
	assert.partialDeepStrictEqual(event?.data, { key: "SAME", environment: "prod", pre_encrypted: true });
});

test("secrets are promoted with comment and expiry, as sets that say where they come from", async () => {
	await start();
	const answer = await promote([
		{ key: "OTHER", from_version: 2, to_version: 1 },
		{ key: "NEW/key", from_version: 1, to_version: null },
	]);
	assert.doesNotMatch(answer.text, /canary/);
	assert.deepEqual(
		ok(answer).secrets.map(({ key, environment, version }) => [key, environment, version]),
		[
			["OTHER", "prod", 2],
			["NEW/key", "prod", 1],
		],
	);
	assert.deepEqual(
		[await readValue("OTHER"), await readValue("NEW/key"), await readValue("SAME")],
		["canary-3", "canary-4", "canary-1"],
	);
	assert.equal((await diff()).find(({ key }) => key === "OTHER")?.to_expires_at, EXPIRES);
	const { versions } = ok(
		await client.get<{ versions: { comment: string }[] }>(`${secretPath(slug, "OTHER")}/versions?env=prod`, {
			token: ada.token,
		}),
	);
	assert.deepEqual(
		versions.map(({ comment }) => comment),
		["why", ""],
	);
	const found = await events(client, ada, `realm=${slug}&type=secret.set`);
	const of = (key: string) => found.find(({ data }) => data.key === key && data.environment === "prod")?.data;
	assert.partialDeepStrictEqual(of("OTHER"), { version: 2, from_environment: "staging", from_version: 2 });
	assert.partialDeepStrictEqual(of("NEW/key"), { version: 1, from_environment: "staging", from_version: 1 });
});

test("all are promoted or none: a version that is not the one that was seen refuses the whole", async () => {
	await start();
	for (const stale of [
		{ key: "OTHER", from_version: 1 },
		{ key: "OTHER", to_version: 2 },
		{ key: "OTHER", to_version: null },
		{ key: "NEW/key", to_version: 1 },
	])
		refused(await promote([{ key: "SAME" }, stale]), 409, "conflict");
	refused(await promote([{ key: "SAME" }, { key: "GONE" }]), 404, "not_found");
	assert.deepEqual(
		(await diff()).map(({ to_version }) => to_version),
		[1, null, 1, 1],
	);
});

test("one of several promotions of the same versions wins the race", async () => {
	await start();
	const asked = [{ key: "OTHER", from_version: 2, to_version: 1 }];
	const statuses = (await Promise.all(Array.from({ length: 8 }, () => promote(asked)))).map(({ status }) => status);
	assert.deepEqual(statuses.sort(), [200, ...Array(7).fill(409)]);
	assert.equal((await diff()).find(({ key }) => key === "OTHER")?.to_version, 2);
});

test("contradictory requests are refused", async () => {
	await start();
	const one = [{ key: "SAME" }];
	refused(await promote(one, { to: "staging" }), 400, "validation_failed");
	refused(await promote(one, { to: "production" }), 400, "invalid_environment");
	refused(await promote([]), 400, "missing_field");
	refused(await promote([...one, ...one]), 400, "validation_failed");
	refused(await promote([{ key: "SAME", from_version: 0 }]), 400);
	refused(await promote(Array.from({ length: 1001 }, (_, index) => ({ key: `K${index}` }))), 400, "validation_failed");
	const get = (query: string) => client.get(`/realms/${slug}/diff${query}`, { token: ada.token });
	for (const query of ["", "?from=dev", "?from=dev&to=dev", "?from=dev&to=", "?from=x&to=dev"])
		refused(await get(query), 400);
});

test("a token for one environment or without one of the scopes, and a viewer, promote nothing", async () => {
	await start();
	const viewer = await person(client, "viewer");
	await bind(client, ada, slug, viewer, "viewer");
	assert.equal((await diff("staging", "prod", viewer.token)).length, 4);
	refused(await promote([{ key: "SAME" }], {}, viewer.token), 403, "forbidden");
	for (const environment of ["staging", "prod"]) {
		const { token } = await apiToken(client, ada, "read,write", { realm: slug, environment });
		refused(await promote([{ key: "SAME" }], {}, token), 403, "insufficient_scope");
		refused(await client.get(diffPath("staging", "prod"), { token }), 403, "insufficient_scope");
	}
	for (const scope of ["read", "write"]) {
		const { token } = await apiToken(client, ada, scope, { realm: slug });
		refused(await promote([{ key: "SAME" }], {}, token), 403, "insufficient_scope");
	}
	assert.equal((await diff()).find(({ key }) => key === "SAME")?.to_version, 1);
});

test("environments of any size can be compared; a promotion of more than 2 MiB is refused", async () => {
	await start();
	const big = "x".repeat(256 * 1024);
	const keys = Array.from({ length: 66 }, (_, index) => `BIG_${String(index).padStart(3, "0")}`);
	await Promise.all(keys.map((key) => secret(client, ada, slug, key, big, { environment: "staging" })));
	await Promise.all(
		Array.from({ length: 60 }, (_, index) => secret(client, ada, slug, `S_${index}`, "v", { environment: "staging" })),
	);
	assert.equal((await diff()).length, 130);
	refused(await promote(keys.map((key) => ({ key }))), 413, "payload_too_large");
	assert.equal(ok(await promote(keys.slice(0, 7).map((key) => ({ key })))).secrets.length, 7);
	assert.equal((await diff()).filter(({ status }) => status === "equal").length, 8);
});

test("where expiry is enforced, what has expired is not there", async () => {
	const enforcing = await startServer({ env: { SVC_SECRETS_ENFORCE_EXPIRY: "true" } });
	try {
		const other = api(enforcing);
		const owner = await person(other, "owner");
		const { slug: target } = await realm(other, owner);
		const { token } = owner;
		const set = (key: string, value: string, environment: string, expires_at?: string) =>
			other.post(`/realms/${target}/secrets`, { key, value, environment, expires_at }, { token });
		await ending((expires_at) => set("K", "v", "staging", expires_at));
		await ending((expires_at) => set("L", "old", "prod", expires_at));
		ok(await set("K", "v", "prod"), 201);
		ok(await set("L", "new", "staging"), 201);
		const statuses = async () =>
			ok(
				await other.get<{ secrets: Difference[] }>(`/realms/${target}/diff?from=staging&to=prod`, { token }),
			).secrets.map(({ status }) => status);
		await eventually("they expire", async () => (await statuses()).join() === "only_in_to,only_in_from", 60);
		const copy = (secret: object) =>
			other.post<{ secrets: Secret[] }>(
				`/realms/${target}/promote`,
				{ from: "staging", to: "prod", secrets: [secret] },
				{ token },
			);
		refused(await copy({ key: "K" }), 404, "not_found");
		const seen = { key: "L", from_version: 1, to_version: null };
		assert.equal(ok(await copy(seen)).secrets[0]?.version, 2);
		refused(await copy(seen), 409, "conflict");
	} finally {
		await enforcing.close();
	}
});
