import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import {
	apiToken,
	bind,
	login,
	PASSWORD,
	type Person,
	person,
	realm,
	secret,
	secretPath,
	unique,
} from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let instance: Person;
let ada: Person;
let bob: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	// The first account manages the instance.
	[instance, ada, bob] = [await person(client, "instance"), await person(client, "ada"), await person(client, "bob")];
});
after(() => server.stop());

interface Deletion {
	id: string;
	slug: string;
	user_id: string;
	owner_email: string;
	deleted_by: string;
	deleted_at: string;
	purge_at: string;
}

const asAda = () => ({ token: ada.token });
const restore = (slug: string, body: object = {}, token = ada.token) =>
	client.post<{ id: string; slug: string }>(`/realms/${slug}/restore`, body, { token });
const deletions = async (token = ada.token) =>
	ok(await client.get<{ realms: Deletion[] }>("/realms?deleted=true&limit=100", { token })).realms;
const remove = async (slug: string) => ok(await client.delete(`/realms/${slug}`, asAda()));

/** A deleted realm of Ada with a secret, in which Bob had a role. */
async function deletedRealm(): Promise<{ id: string; slug: string }> {
	const { id, slug } = await realm(client, ada);
	await bind(client, ada, slug, bob, "admin");
	await secret(client, ada, slug, "KEY", "a value", { environment: "prod" });
	await remove(slug);
	return { id, slug };
}

test("a deleted realm is listed for its owner, and comes back with its members and secrets, also for an operator", async () => {
	const { id, slug } = await deletedRealm();
	refused(await client.get(`/realms/${slug}`, asAda()), 404, "not_found");
	const listed = (await deletions()).find((one) => one.id === id);
	assert.partialDeepStrictEqual(listed, { slug, user_id: ada.id, owner_email: ada.email, deleted_by: ada.id });
	const days = (Date.parse(listed?.purge_at ?? "") - Date.parse(listed?.deleted_at ?? "")) / 86_400_000;
	assert.equal(days, 30);
	const sync = () => client.get<{ value: string }>(`/eso/${slug}/KEY`, { token: bob.token });
	assert.equal((await sync()).status, 404);
	assert.partialDeepStrictEqual(ok(await restore(slug)), { id, slug, user_id: ada.id });
	assert.equal(ok(await sync()).value, "a value");
	assert.deepEqual(ok(await client.get<object>(`/eso/${slug}`, { token: bob.token })), { data: { KEY: "a value" } });
	assert.partialDeepStrictEqual(ok(await client.get(`${secretPath(slug, "KEY")}?env=prod`, asAda())), {
		value: "a value",
		version: 1,
	});
	assert.equal(
		(await deletions()).some((one) => one.id === id),
		false,
	);
	refused(await restore(slug), 404, "not_found");
});

test("a restored realm is as good as any other: it is written, read and deleted again", async () => {
	const { slug } = await deletedRealm();
	ok(await restore(slug));
	await secret(client, ada, slug, "KEY", "another", { environment: "prod" });
	await remove(slug);
	ok(await restore(slug));
	const path = `${secretPath(slug, "KEY")}?env=prod`;
	assert.partialDeepStrictEqual(ok(await client.get(path, asAda())), { value: "another", version: 2 });
});

test("its owner and the instance admin restore a realm, and nobody else, whatever role they had in it", async () => {
	const { id, slug } = await deletedRealm();
	refused(await restore(slug, {}, bob.token), 404, "not_found");
	refused(await restore(slug, { id }, bob.token), 404, "not_found");
	assert.deepEqual(await deletions(bob.token), []);
	assert.ok((await deletions(instance.token)).some((one) => one.id === id));
	assert.partialDeepStrictEqual(ok(await restore(slug, {}, instance.token)), { id, user_id: ada.id });
	refused(await client.get(`/realms/${slug}`, { token: instance.token }), 404, "not_found");
});

test("a token restores with the scopes write and delete and without limits, and lists without limits", async () => {
	const { slug } = await deletedRealm();
	const other = await realm(client, ada);
	for (const scopes of ["read,write", "read,delete"]) {
		const { token } = await apiToken(client, ada, scopes);
		refused(await restore(slug, {}, token), 403, "insufficient_scope");
	}
	for (const limits of [{ realm: other.slug }, { environment: "prod" }]) {
		const { token } = await apiToken(client, ada, "read,write,delete", limits);
		refused(await restore(slug, {}, token), 403, "insufficient_scope");
		refused(await client.get("/realms?deleted=true", { token }), 403, "insufficient_scope");
	}
	refused(
		await client.get("/realms?deleted=true", { token: (await apiToken(client, ada, "write,delete")).token }),
		403,
		"insufficient_scope",
	);
	ok(await restore(slug, {}, (await apiToken(client, ada, "write,delete")).token));
});

test("a slug that was taken meanwhile is a conflict; another one may be given", async () => {
	const { id, slug } = await deletedRealm();
	ok(await client.post("/realms", { slug, name: "Next" }, { token: bob.token }), 201);
	const taken = await restore(slug);
	refused(taken, 409, "conflict");
	assert.match(taken.text, /`--as`/);
	refused(await restore(slug, { slug: "NO" }), 400, "invalid_slug");
	const other = unique("other");
	assert.partialDeepStrictEqual(ok(await restore(slug, { slug: other })), { id, slug: other });
	assert.equal(ok(await client.get<{ user_id: string }>(`/realms/${slug}`, { token: bob.token })).user_id, bob.id);
	assert.partialDeepStrictEqual(ok(await client.get(`/realms/${other}`, asAda())), { id });
});

test("a realm that came back under another slug gets its own one back when that is free", async () => {
	const { id, slug } = await deletedRealm();
	ok(await client.post("/realms", { slug, name: "Next" }, asAda()), 201);
	const other = unique("other");
	ok(await restore(slug, { slug: other }));
	await remove(slug);
	await remove(other);
	assert.partialDeepStrictEqual(ok(await restore(other, { slug })), { id, slug });
	const kept = await client.get(`${secretPath(slug, "KEY")}?env=prod`, asAda());
	assert.partialDeepStrictEqual(ok(kept), { value: "a value" });
});

test("the newest of several deletions of a slug is restored, or the one that is named", async () => {
	const { slug, id: first } = await deletedRealm();
	ok(await client.post("/realms", { slug, name: "Second" }, asAda()), 201);
	await remove(slug);
	assert.partialDeepStrictEqual(ok(await restore(slug)), { name: "Second" });
	await remove(slug);
	assert.partialDeepStrictEqual(ok(await restore(slug, { id: first })), { id: first });
	refused(await restore(unique("none"), { id: first }), 404, "not_found");
});

test("tokens that were limited to the realm have ended, and others have not", async () => {
	const { slug } = await realm(client, ada);
	const [limited, free] = [
		await apiToken(client, ada, "read", { realm: slug }),
		await apiToken(client, ada, "read", { environment: "prod" }),
	];
	await remove(slug);
	ok(await restore(slug));
	refused(await client.get(`/realms/${slug}/secrets`, { token: limited.token }), 401, "unauthorized");
	ok(await client.get(`/realms/${slug}/secrets`, { token: free.token }));
});

test("realms that can be restored count for their owner", async () => {
	const cat = await person(client, "cat");
	const limits = { token: instance.token, raw: JSON.stringify({ realms: 1 }) };
	ok(await client.send("PUT", `/api/v1/users/${cat.id}/limits`, limits));
	const { slug } = await realm(client, cat);
	ok(await client.delete(`/realms/${slug}`, { token: cat.token }));
	const create = () => client.post("/realms", { slug: unique("more"), name: "More" }, { token: cat.token });
	refused(await create(), 409, "limit_reached");
	ok(await restore(slug, {}, cat.token));
	refused(await create(), 409, "limit_reached");
});

test("a restore is an event of the realm that says whose it is, and the log and the rows agree", async () => {
	const { slug } = await deletedRealm();
	const next = unique("renamed");
	ok(await restore(slug, { slug: next }, instance.token));
	const { events } = ok(
		await client.get<{ events: { data: string; actor: string }[] }>(
			`/audit/events?realm=${next}&type=realm.restored`,
			asAda(),
		),
	);
	assert.equal(events[0]?.actor, instance.id);
	assert.partialDeepStrictEqual(JSON.parse(events[0]?.data ?? ""), { owner: ada.id, was: slug });
	await deletedRealm();
	const verified = ok(await client.get<object>("/audit/verify", { token: instance.token }));
	assert.partialDeepStrictEqual(verified, { status: "intact", differing: 0 });
});

test("reads from before a realm was restored under another slug are found by either slug", async () => {
	const { slug } = await realm(client, ada);
	await secret(client, ada, slug, "WHO_READ", "a value");
	ok(await client.get(secretPath(slug, "WHO_READ"), asAda()));
	await remove(slug);
	const next = unique("renamed");
	ok(await restore(slug, { slug: next }));
	ok(await client.get(secretPath(next, "WHO_READ"), asAda()));
	const read = async (filter: string) =>
		(await events(client, ada, `type=secret.read&${filter}`)).map((event) => event.realm);
	assert.deepEqual(await read("key=WHO_READ"), [next, slug]);
	assert.deepEqual(await read(`key=WHO_READ&realm=${next}`), [next, slug]);
	assert.deepEqual(await read(`realm=${next}`), [next, slug]);
	assert.deepEqual(await read(`key=WHO_READ&realm=${slug}`), [slug]);
});

test("a deleted realm survives a restart of the server", async () => {
	const { slug } = await deletedRealm();
	await server.restart();
	client = api(server);
	ok(await restore(slug));
	const token = await login(client, { email: ada.email, password: PASSWORD });
	assert.partialDeepStrictEqual(ok(await client.get(`${secretPath(slug, "KEY")}?env=prod`, { token })), {
		value: "a value",
	});
});
