/* A machine never has more than its maker had: what becomes of both when the maker's own rights end. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, machine, machineToken, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";

let server: Server;
let client: Api;
let root: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	({ slug } = await realm(client, root));
	await secret(client, root, slug, "DB_URL", "a value", { environment: "prod" });
});
after(() => server.close());

/** Refuses a request because its sender is nobody, has no such role, or is not of the realm. */
const CAN_NOT = [401, 403, 404];

const ENDS: Readonly<Record<string, (maker: Person) => Promise<unknown>>> = {
	"the role is lowered to member": async ({ id }) =>
		ok(await client.put(`/realms/${slug}/policy/bindings/${id}`, { role: "member" }, root)),
	"the role is lowered to viewer": async ({ id }) =>
		ok(await client.put(`/realms/${slug}/policy/bindings/${id}`, { role: "viewer" }, root)),
	"the role is removed": async ({ id }) => ok(await client.delete(`/realms/${slug}/policy/bindings/${id}`, root)),
	"the maker leaves the realm": async (maker) => ok(await client.post(`/realms/${slug}/leave`, {}, maker)),
	"the account is disabled": async ({ id }) => ok(await client.post(`/users/${id}/disable`, {}, root)),
	"everything of the maker's is revoked": async ({ id }) => {
		ok(await client.post("/revoke", { user_id: id }, root));
		ok(await client.post(`/users/${id}/disable`, {}, root));
	},
};

for (const [what, end] of Object.entries(ENDS)) {
	test(`${what}: the machine keeps what it has, and the maker gives it no more`, async () => {
		const maker = await person(client, "maker");
		await bind(client, root, slug, maker, "admin");
		const { name } = await machine(client, maker, slug, { role: "viewer", scopes: "read", environment: "prod" });
		const { token } = await machineToken(client, maker, slug, name);
		const can = async () => {
			const path = secretPath(slug, "DB_URL");
			const reads = await client.get(`${path}?env=prod`, { token });
			const elsewhere = await client.get(`${path}?env=staging`, { token });
			const body = { key: "NEW", value: "v", environment: "prod" };
			const writes = await client.post(`/realms/${slug}/secrets`, body, { token });
			return [reads, elsewhere, writes].map(({ status }) => status);
		};
		const before = await can();
		assert.deepEqual(before, [200, 403, 403]);
		await end(maker);
		const path = `/realms/${slug}/machines/${name}`;
		const jwks = { keys: [newKey("ES256", "own").jwk] };
		const trust = { issuer: "https://id.example.com", audience: "svc", claims: { sub: "deploy" }, jwks };
		const tries: Record<string, Answer> = {
			"a higher role": await client.put(path, { role: "admin", scopes: "read,write,delete" }, maker),
			"the same again": await client.put(path, { role: "viewer" }, maker),
			"another machine": await client.put(`${path}-2`, { role: "viewer" }, maker),
			"a token": await client.post(`${path}/tokens`, { ttl: "1h" }, maker),
			"a trust": await client.put(`${path}/trusts/own`, trust, maker),
		};
		for (const [tried, { status }] of Object.entries(tries)) assert.ok(CAN_NOT.includes(status), `${tried}: ${status}`);
		assert.deepEqual(await can(), before, "the machine belongs to the realm");
		refused(await client.get(`${path}-2`, root), 404);
		ok(await client.delete(path, root));
		assert.deepEqual(await can(), [401, 401, 401], "who manages the realm ends it");
	});
}

test("nobody below an admin makes a machine, and a machine makes none, nor a role or a token", async () => {
	for (const role of ["viewer", "member"]) {
		const maker = await person(client, role);
		await bind(client, root, slug, maker, role);
		for (const given of ["viewer", "member", "admin"])
			refused(
				await client.put(`/realms/${slug}/machines/no-${role}-${given}`, { role: given }, maker),
				403,
				"forbidden",
			);
	}
	const maker = await person(client, "maker");
	await bind(client, root, slug, maker, "admin");
	const { name } = await machine(client, maker, slug, { role: "admin", scopes: "read,write,delete" });
	const { token } = await machineToken(client, maker, slug, name);
	const more = [
		await client.post(`/realms/${slug}/policy/bindings`, { email: maker.email, role: "admin" }, { token }),
		await client.put(`/realms/${slug}/machines/another`, { role: "viewer" }, { token }),
		await client.post(`/realms/${slug}/machines/${name}/tokens`, { ttl: "1h" }, { token }),
	];
	for (const answer of more) refused(answer, 403, "forbidden");
});
