import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret, secretPath, unique } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	[ada, bob] = [await person(client, "ada"), await person(client, "bob")];
	({ slug } = await realm(client, ada));
	await bind(client, ada, slug, bob, "member");
});
after(() => server.stop());

interface Deletion {
	id: string;
	key: string;
	environment: string;
	version: number;
	deleted_by: string;
	deleted_at: string;
	purge_at: string;
}

const asAda = () => ({ token: ada.token });
const restore = (key: string, body: object = {}, token = ada.token, query = "") =>
	client.post<{ version: number }>(`${secretPath(slug, key)}/restore${query}`, body, { token });
const deletions = async (token = ada.token) =>
	ok(await client.get<{ secrets: Deletion[] }>(`/realms/${slug}/secrets?deleted=true&limit=100`, { token })).secrets;

async function deleted(environment = "dev"): Promise<string> {
	const key = unique("KEY");
	for (const value of ["first", "second"]) await secret(client, ada, slug, key, value, { environment });
	ok(await client.delete(`${secretPath(slug, key)}?env=${environment}`, asAda()));
	return key;
}

test("a deleted secret is listed without its value, and comes back with its history", async () => {
	const key = await deleted();
	refused(await client.get(secretPath(slug, key), asAda()), 404, "not_found");
	const listed = (await deletions()).find((one) => one.key === key);
	assert.partialDeepStrictEqual(listed, { environment: "dev", version: 2, deleted_by: ada.id });
	const days = (Date.parse(listed?.purge_at ?? "") - Date.parse(listed?.deleted_at ?? "")) / 86_400_000;
	assert.equal(days, 30);
	assert.equal(JSON.stringify(listed).includes("second"), false);
	assert.partialDeepStrictEqual(ok(await restore(key, { id: listed?.id })), { key, environment: "dev", version: 4 });
	assert.partialDeepStrictEqual(ok(await client.get(secretPath(slug, key), asAda())), { value: "second", version: 4 });
	assert.partialDeepStrictEqual(ok(await client.get(`${secretPath(slug, key)}?version=3`, asAda())), {
		value: "first",
	});
	assert.equal(
		(await deletions()).some((one) => one.key === key),
		false,
	);
	refused(await restore(key), 409, "conflict");
});

test("a restore names its deletion in the log", async () => {
	const key = await deleted();
	const [id] = (await deletions()).filter((one) => one.key === key).map((one) => one.id);
	ok(await restore(key));
	const { events } = ok(
		await client.get<{ events: { data: string }[] }>(`/audit/events?realm=${slug}&type=secret.restore`, asAda()),
	);
	assert.partialDeepStrictEqual(JSON.parse(events[0]?.data ?? ""), { key, deletion_id: id, version: 4 });
});

test("a restore takes an admin, and the scopes write and delete; a token for one environment restores there", async () => {
	const key = await deleted();
	refused(await restore(key, {}, bob.token), 403, "forbidden");
	for (const scopes of ["read,write", "read,delete"]) {
		const { token } = await apiToken(client, ada, scopes);
		refused(await restore(key, {}, token), 403, "insufficient_scope");
	}
	const prod = await deleted("prod");
	const { token } = await apiToken(client, ada, "write,delete", { realm: slug, environment: "prod" });
	refused(await restore(key, {}, token), 403, "insufficient_scope");
	ok(await restore(prod, {}, token, "?env=prod"));
	const reader = await apiToken(client, ada, "read", { realm: slug, environment: "prod" });
	await deleted("prod");
	assert.deepEqual(new Set((await deletions(reader.token)).map(({ environment }) => environment)), new Set(["prod"]));
	refused(
		await client.get(`/realms/${slug}/secrets?deleted=true&env=dev`, { token: reader.token }),
		403,
		"insufficient_scope",
	);
});

test("a purge takes a session, and leaves nothing to restore", async () => {
	const key = await deleted();
	await secret(client, ada, slug, key, "third");
	const { token } = await apiToken(client, ada, "read,write,delete");
	const path = `${secretPath(slug, key)}?purge=true`;
	refused(await client.delete(path, { token }), 400, "unsupported_operation");
	refused(await client.delete(path, { token: bob.token }), 403, "forbidden");
	ok(await client.delete(path, asAda()));
	refused(await client.get(secretPath(slug, key), asAda()), 404, "not_found");
	refused(await restore(key), 404, "not_found");
	refused(await client.delete(path, asAda()), 404, "not_found");
});

test("a deletion survives a restart of the server", async () => {
	const key = await deleted();
	await server.restart();
	client = api(server);
	ok(await restore(key));
	assert.partialDeepStrictEqual(ok(await client.get(secretPath(slug, key), asAda())), { value: "second" });
});

test("after deletions, restores and purges, the log and the rows still agree", async () => {
	ok(await restore(await deleted()));
	ok(await client.delete(`${secretPath(slug, await deleted())}?purge=true`, asAda()));
	await deleted();
	const verified = ok(await client.get<object>("/audit/verify", asAda()));
	assert.partialDeepStrictEqual(verified, { status: "intact", differing: 0 });
});
