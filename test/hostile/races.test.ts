import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, PASSWORD, type Person, person, realm, secretPath, unique } from "../harness/fixtures.ts";
import type { Binding, Realm, Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const RIVALS = 20;

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	[alice, bob] = [await person(client, "alice"), await person(client, "bob")];
});
after(() => server.close());

function rivals<T>(send: (index: number) => Promise<T>): Promise<T[]> {
	return Promise.all(Array.from({ length: RIVALS }, (_, index) => send(index)));
}

/** Fails unless one answer has the first status, and all others the second. */
function oneWinner(answers: readonly Answer[], won: number, lost: number): void {
	const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
	assert.deepEqual(statuses, [won, ...Array.from({ length: RIVALS - 1 }, () => lost)]);
}

test("one of several registrations of an e-mail in many spellings wins", async () => {
	const email = `${unique("wanted")}@example.test`;
	const spellings = [email, email.toUpperCase(), ` ${email}`, email.replace("w", "W"), email.replace("w", "\uff57")];
	const answers = await Promise.all(
		spellings.map((spelling) => client.post("/auth/register", { email: spelling, password: PASSWORD })),
	);
	assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409]);
	ok(await client.post("/auth/login", { email, password: PASSWORD }));
});

test("one of several realms with the same slug wins", async () => {
	const slug = unique("wanted");
	const answers = await rivals((index) =>
		client.post<Realm>("/realms", { slug, name: `No. ${index}` }, { token: (index % 2 ? alice : bob).token }),
	);
	oneWinner(answers, 201, 409);
	const winner = answers.find(({ status }) => status === 201)?.body;
	const owner = winner?.user_id === alice.id ? alice : bob;
	assert.deepEqual(ok(await client.get(`/realms/${slug}`, { token: owner.token })), winner);
});

test("one of several bindings of a person wins", async () => {
	const { slug } = await realm(client, alice);
	const path = `/realms/${slug}/policy/bindings`;
	const roles = ["viewer", "member", "admin"];
	const answers = await rivals((index) =>
		client.post<Binding>(path, { user_id: bob.id, role: roles[index % 3] }, { token: alice.token }),
	);
	oneWinner(answers, 201, 409);
	const { bindings } = ok(await client.get<{ bindings: Binding[] }>(path, { token: alice.token }));
	assert.deepEqual(
		bindings.map(({ role }) => role),
		[answers.find(({ status }) => status === 201)?.body.role],
	);
});

test("one of several deletions of a thing wins", async () => {
	const { slug } = await realm(client, alice);
	const { token } = alice;
	await bind(client, alice, slug, bob, "viewer");
	ok(await client.post(`/realms/${slug}/secrets`, { key: "KEY", value: "a value" }, { token }), 201);
	const { id } = await apiToken(client, alice, "read");
	for (const path of [
		secretPath(slug, "KEY"),
		`/realms/${slug}/policy/bindings/${bob.id}`,
		`/auth/tokens/${id}`,
		`/realms/${slug}`,
	]) {
		oneWinner(await rivals(() => client.delete(path, { token })), 200, 404);
	}
});

test("a hundred writes of one key get the versions 1 to 100, each once", async () => {
	const { slug } = await realm(client, alice);
	const answers = await Promise.all(
		Array.from({ length: 100 }, (_, index) =>
			client.post<Secret>(`/realms/${slug}/secrets`, { key: "KEY", value: `value ${index}` }, { token: alice.token }),
		),
	);
	const versions = answers.map((answer) => ok(answer, 201).version).sort((a, b) => a - b);
	assert.deepEqual(
		versions,
		Array.from({ length: 100 }, (_, index) => index + 1),
	);
	const last = answers.findIndex(({ body }) => body.version === 100);
	const { value, version } = ok(await client.get<Secret>(secretPath(slug, "KEY"), { token: alice.token }));
	assert.deepEqual([value, version], [`value ${last}`, 100]);
	assert.equal(new Set(answers.map(({ body }) => body.created_at)).size, 1);
});

test("writes and deletions of one key that race each other never repeat a version", async () => {
	const { slug } = await realm(client, alice);
	const { token } = alice;
	const answers = await Promise.all(
		Array.from({ length: 200 }, (_, index) =>
			index % 2
				? client.delete<Partial<Secret>>(secretPath(slug, "KEY"), { token })
				: client.post<Partial<Secret>>(`/realms/${slug}/secrets`, { key: "KEY", value: `value ${index}` }, { token }),
		),
	);
	assert.ok(answers.every(({ status }) => [200, 201, 404].includes(status)));
	const versions = answers.flatMap(({ body: { version } }) => (version === undefined ? [] : [version]));
	assert.deepEqual(
		versions.sort((a, b) => a - b),
		Array.from({ length: 100 }, (_, index) => index + 1),
	);
});

test("rollbacks and writes that race each other leave one history", async () => {
	const { slug } = await realm(client, alice);
	const { token } = alice;
	const body = { key: "KEY", value: "first" };
	ok(await client.post(`/realms/${slug}/secrets`, body, { token }), 201);
	const answers = await rivals((index) =>
		index % 2
			? client.post<Secret>(`${secretPath(slug, "KEY")}/rollback`, { version: 1 }, { token })
			: client.post<Secret>(`/realms/${slug}/secrets`, body, { token }),
	);
	const rolledBack = answers.filter(({ status }) => status === 201).map(({ body: { version } }) => version);
	assert.equal(new Set(rolledBack).size, rolledBack.length);
	assert.ok(answers.every(({ status }) => [201, 404].includes(status)));
});

test("writes into a realm that is being deleted are kept with it or not found", async () => {
	const { slug } = await realm(client, alice);
	const { token } = alice;
	const answers = await rivals((index) =>
		index === 10
			? client.delete(`/realms/${slug}`, { token })
			: client.post(`/realms/${slug}/secrets`, { key: `KEY_${index}`, value: "a value" }, { token }),
	);
	assert.ok(answers.every(({ status }) => [200, 201, 404].includes(status)));
	assert.equal((await client.get(`/realms/${slug}`, { token })).status, 404);
});
