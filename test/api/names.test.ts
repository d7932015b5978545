/* Names beside ids: everybody who may see a list may know who is in it. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, invitation, machine, machineToken, type Person, person, realm } from "../harness/fixtures.ts";
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

const MADE = [
	"/realms/{slug}/machines",
	"{machine}",
	"{machine}/tokens",
	"{machine}/trusts",
	"{machine}/trusts/ci",
	"/invitations",
];
for (const path of MADE)
	test(`names=true adds the e-mail of who made it, and nothing else, to ${path}`, async () => {
		const at = path.replace("{slug}", slug).replace("{machine}", own);
		const plain = await row(at);
		assert.equal(plain.created_by, ada.id);
		assert.deepEqual(await row(at, "?names=false"), plain);
		assert.deepEqual(await row(at, "?names=true"), { ...plain, created_by_email: ada.email });
		refused(await client.get(`${at}?names=yes`, { token: ada.token }), 400, "validation_failed");
	});

test("names=true adds the owner and their e-mail to realms, for every member", async () => {
	for (const who of [ada.token, bob.token]) {
		const [one, listed] = [await row(`/realms/${slug}`, "", who), await row("/realms", "", who)];
		assert.equal("owner_email" in one || "user_id" in listed, false);
		assert.deepEqual(await row(`/realms/${slug}`, "?names=true", who), { ...one, owner_email: ada.email });
		const named = { ...listed, user_id: ada.id, owner_email: ada.email };
		assert.deepEqual(await row("/realms", "?names=true", who), named);
	}
});

test("names=true says by e-mail whose rights policy explain tells", async () => {
	const plain = await row("/policy/explain", `?realm=${slug}`);
	const named = await row("/policy/explain", `?realm=${slug}&names=true`);
	assert.deepEqual(named, { ...plain, email: ada.email, name: "ada" });
});
