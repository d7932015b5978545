/* Names next to ids: everybody who may see a list may know who is in it. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import {
	bind,
	invitation,
	machine,
	machineToken,
	type Person,
	person,
	realm,
	secret,
	secretPath,
} from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let slug: string;
let own: string;

before(async () => {
	server = await startServer();
	client = api(server);
	await person(client, "root");
	[ada, bob] = [await person(client, "ada"), await person(client, "bob")];
	slug = (await realm(client, ada)).slug;
	await bind(client, ada, slug, bob, "viewer");
	const { name } = await machine(client, ada, slug);
	await machineToken(client, ada, slug, name);
	own = `/realms/${slug}/machines/${name}`;
	const { jwk } = newKey("ES256", "own");
	const trust = {
		issuer: "https://id.example.com",
		audience: "svc-shop",
		claims: { sub: "ci" },
		jwks: { keys: [jwk] },
	};
	ok(await client.put(`${own}/trusts/ci`, trust, { token: ada.token }));
	await invitation(client, ada);
});
after(() => server.close());

type Row = Readonly<Record<string, unknown>>;

/** Reads one object, or the only row of a list. */
async function row(path: string, query = "", who = ada.token): Promise<Row> {
	const answer = ok(await client.get<Row>(`${path}${query}`, { token: who }));
	const list = Object.values(answer).find(Array.isArray) as Row[] | undefined;
	if (list === undefined || "role" in answer || "claims" in answer) return answer;
	assert.equal(list.length, 1);
	return list[0] as Row;
}

const OWNER = () => ({ owner_email: ada.email, owner_name: "ada" });

const MADE = [
	"/realms/{slug}/machines",
	"{machine}",
	"{machine}/tokens",
	"{machine}/trusts",
	"{machine}/trusts/ci",
	"/invitations",
];
for (const path of MADE)
	test(`${path} says by e-mail and name who made it`, async () => {
		const at = path.replace("{slug}", slug).replace("{machine}", own);
		const maker = { created_by: ada.id, created_by_email: ada.email, created_by_name: "ada" };
		assert.partialDeepStrictEqual(await row(at), maker);
	});

test("a list of what was deleted says who did it, a machine by its realm and name", async () => {
	const { slug: at } = await realm(client, ada);
	const { name } = await machine(client, ada, at, { role: "admin", scopes: "read,write,delete" });
	const { token } = await machineToken(client, ada, at, name);
	for (const [key, who] of [["BY_ADA", ada.token] as const, ["BY_MACHINE", token] as const]) {
		await secret(client, ada, at, key, "a value");
		ok(await client.delete(secretPath(at, key), { token: who }));
	}
	const list = await client.get<{ secrets: Row[] }>(`/realms/${at}/secrets?deleted=true`, { token: ada.token });
	const { secrets } = ok(list);
	const of = (key: string) => secrets.find((one) => one.key === key);
	assert.partialDeepStrictEqual(of("BY_ADA"), { deleted_by_email: ada.email, deleted_by_name: "ada" });
	assert.equal(of("BY_MACHINE")?.deleted_by_machine, `${at}/${name}`);
	ok(await client.delete(`/realms/${at}`, { token: ada.token }));
	const { realms } = ok(await client.get<{ realms: Row[] }>("/realms?deleted=true", { token: ada.token }));
	const people = { owner_email: ada.email, owner_name: "ada", deleted_by_email: ada.email, deleted_by_name: "ada" };
	assert.partialDeepStrictEqual(realms, [people]);
});

test("without names=true, the answers of the specification have no names", async () => {
	for (const path of [`/realms/${slug}`, "/realms", `/realms/${slug}/policy/bindings`]) {
		const plain = await row(path);
		assert.deepEqual(await row(path, "?names=false"), plain);
		assert.deepEqual(
			Object.keys(plain).filter((field) => /email|_name$/.test(field)),
			[],
			path,
		);
		refused(await client.get(`${path}?names=yes`, { token: ada.token }), 400, "validation_failed");
	}
});

test("names=true adds the owner by e-mail and name to realms, for every member", async () => {
	for (const who of [ada.token, bob.token]) {
		const [one, listed] = [await row(`/realms/${slug}`, "", who), await row("/realms", "", who)];
		assert.equal("owner_email" in one || "user_id" in listed, false);
		assert.deepEqual(await row(`/realms/${slug}`, "?names=true", who), { ...one, ...OWNER() });
		const named = { ...listed, user_id: ada.id, ...OWNER() };
		assert.deepEqual(await row("/realms", "?names=true", who), named);
	}
});

test("names=true says by e-mail whose rights policy explain tells", async () => {
	const plain = await row("/policy/explain", `?realm=${slug}`);
	const named = await row("/policy/explain", `?realm=${slug}&names=true`);
	assert.deepEqual(named, { ...plain, email: ada.email, name: "ada" });
});
