import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { newest } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, login, type Person, person } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { type HoldingServer, startHoldingServer } from "../hostile/door.ts";
import { honest, startFakeLdap } from "../peers/ldap-fake.ts";

/** A person who signs in to an account at a provider. */
interface Identity {
	readonly id: string;
	readonly provider: string;
	readonly subject: string;
	readonly made_account: boolean;
	readonly created_at: string;
}

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let holding: HoldingServer;
let client: Api;
let root: Person;
let directories = 0;

before(async () => {
	holding = await startHoldingServer();
	ends.defer(() => holding.server.close());
	client = api(holding.server);
	root = await person(client, "root");
});

/** Sets up a new directory where the thief is alice, with any password. */
async function directory(more: object = {}): Promise<string> {
	const fake = await startFakeLdap(honest);
	ends.defer(fake.stop);
	const name = `corp-${++directories}`;
	const config = { url: fake.url, ca_cert: fake.ca, user_base_dn: "ou=people,dc=test", ...more };
	const raw = JSON.stringify({ type: "ldap", config });
	ok(await client.send("PUT", `/api/v1/auth/providers/${name}`, { token: root.token, raw }));
	return name;
}

const ALICE = { username: "alice", password: "whatever" };

const link = (name: string, token: string, current_password?: string): Promise<Answer> =>
	client.post(`/auth/ldap/${name}/link`, { ...ALICE, current_password }, { token });

const signIn = (name: string): Promise<Answer<Login>> => client.post(`/auth/ldap/${name}/login`, ALICE);

const unlink = (id: string, token: string, body: object = {}): Promise<Answer> =>
	client.send("DELETE", `/api/v1/auth/identities/${id}`, { token, raw: JSON.stringify(body) });

async function linkedWith(token: string): Promise<readonly Identity[]> {
	return ok(await client.get<{ identities: Identity[] }>("/auth/identities", { token })).identities;
}

const revoke = async (user_id: string, more: object = {}) =>
	ok(await client.post<{ identities: number }>("/revoke", { user_id, ...more }, { token: root.token })).identities;

test("the last instance admin stays one whatever the linked directory's groups say, and after its removal", async () => {
	const corp = await directory({ group_base_dn: "ou=groups,dc=test" });
	ok(await link(corp, root.token, root.password));
	const { token } = ok(await signIn(corp));
	ok(await client.get("/users", { token }));
	ok(await client.delete(`/auth/providers/${corp}`, { token: root.token }));
	ok(await client.get("/users", { token: root.token }));
	const raw = JSON.stringify({ instance_admin: false });
	refused(await client.send("PUT", `/api/v1/users/${root.id}`, { token: root.token, raw }), 409, "conflict");
});

test("a stolen session links nobody: it takes the password of the account", async () => {
	const corp = await directory();
	const owner = await person(client, "owner");
	const stolen = await login(client, owner);
	refused(await link(corp, stolen), 400, "missing_field");
	refused(await link(corp, stolen, "a guess of the password"), 403, "wrong_password");
	const { token } = await apiToken(client, owner, "read,write,delete");
	refused(await link(corp, token, owner.password), 400, "unsupported_operation");
	assert.deepEqual(await linkedWith(owner.token), []);
	assert.equal((await newest(client, root, "auth.login.failed"))?.actor, owner.id);
	ok(await link(corp, owner.token, owner.password));
	const [identity] = await linkedWith(owner.token);
	assert.deepEqual([identity?.provider, identity?.made_account], [corp, false]);
	assert.equal((await newest(client, root, "sso.identity.linked"))?.data.identity_id, identity?.id);
});

test("after the owner's new password and the admin's revoke a thief's link no longer signs in", async () => {
	const corp = await directory({ auto_provision: false });
	const owner = await person(client, "owner");
	ok(await link(corp, await login(client, owner), owner.password));
	assert.equal(ok(await signIn(corp)).user.id, owner.id);
	const change = { current_password: owner.password, new_password: "the new password of the owner" };
	ok(await client.post("/auth/password", change, { token: owner.token }));
	const shown = await client.get<{ identities: Identity[] }>(`/users/${owner.id}`, { token: root.token });
	assert.deepEqual(
		ok(shown).identities.map(({ provider }) => provider),
		[corp],
	);
	assert.equal(await revoke(owner.id, { keep_links: true }), 0);
	ok(await signIn(corp));
	assert.equal(await revoke(owner.id), 1);
	assert.notEqual((await signIn(corp)).status, 200);
	assert.equal(await revoke(owner.id), 0);
	ok(await client.post("/auth/login", { email: owner.email, password: change.new_password }));
});

test("the owner sees who is linked and removes it, with the password", async () => {
	const corp = await directory({ auto_provision: false });
	const [owner, other] = [await person(client, "owner"), await person(client, "other")];
	ok(await link(corp, owner.token, owner.password));
	const [{ id } = { id: "" }] = await linkedWith(owner.token);
	const stolen = await login(client, owner);
	refused(await unlink(id, stolen), 400, "missing_field");
	refused(await unlink(id, stolen, { current_password: "a guess of the password" }), 403, "wrong_password");
	refused(await unlink(id, other.token, { current_password: other.password }), 404, "not_found");
	ok(await unlink(id, owner.token, { current_password: owner.password }));
	assert.deepEqual(await linkedWith(owner.token), []);
	assert.notEqual((await signIn(corp)).status, 200);
	const event = await newest(client, root, "sso.identity.unlinked");
	assert.deepEqual([event?.actor, event?.data.identity_id, event?.data.provider], [owner.id, id, corp]);
});

test("without a password it takes a sign-in of just now, the identity that made the account is not revoked, and there is no code to reset", async () => {
	const [corp, second] = [await directory(), await directory({ auto_provision: false })];
	const { token, user } = ok(await signIn(corp));
	const [first] = await linkedWith(token);
	assert.deepEqual([first?.provider, first?.made_account], [corp, true]);
	refused(await unlink(first?.id ?? "", token), 409, "conflict");
	ok(await link(second, token));
	assert.equal((await linkedWith(token)).length, 2);
	const made = await client.get<{ identities: Identity[] }>(`/users/${user.id}/made`, { token: root.token });
	const lately = ok(made).identities.map(({ provider }) => provider);
	assert.deepEqual(lately, [second], "what the revocation removes is listed before");
	assert.equal(await revoke(user.id), 1);
	assert.notEqual((await signIn(second)).status, 200);
	assert.equal(ok(await signIn(corp)).user.id, user.id);
	const code = await client.post(`/users/${user.id}/reset`, undefined, { token: root.token });
	refused(code, 409, "conflict");
	assert.match(code.text, /no password/);
});

/** Events that end a caller between the decision on its change and the change. */
const ENDINGS: readonly (readonly [why: string, status: number, end: (owner: Person) => Promise<unknown>])[] = [
	["its session is ended", 401, async ({ token }) => ok(await client.post("/auth/logout", undefined, { token }))],
	[
		"its account is disabled and enabled",
		401,
		async ({ id }) => {
			for (const verb of ["disable", "enable"])
				ok(await client.post(`/users/${id}/${verb}`, undefined, { token: root.token }));
		},
	],
	["what it holds is revoked", 401, async ({ id }) => revoke(id, { keep_links: true })],
	[
		"its password is changed",
		403,
		async ({ token, password }) => {
			const change = { current_password: password, new_password: "the new password of the owner" };
			ok(await client.post("/auth/password", change, { token }));
		},
	],
];

for (const [why, status, end] of ENDINGS) {
	test(`nobody is linked and nobody unlinked when ${why} while it is decided and not made`, async () => {
		const [corp, second] = [await directory(), await directory()];
		const owner = await person(client, "owner");
		ok(await link(corp, owner.token, owner.password));
		const [{ id } = { id: "" }] = await linkedWith(owner.token);
		const asking = async () => ({ ...owner, token: await login(client, owner) });
		const linked = async () => {
			const { identities } = ok(
				await client.get<{ identities: Identity[] }>(`/users/${owner.id}`, { token: root.token }),
			);
			return identities.map(({ provider }) => provider);
		};
		const linker = await asking();
		const linking = await holding.during(
			() => link(second, linker.token, owner.password),
			() => end(linker),
		);
		refused(linking.answer, status);
		assert.deepEqual([linking.held, await linked()], ["sso.link", [corp]]);
		const password = status === 403 ? "the new password of the owner" : owner.password;
		const unlinker = { ...owner, password, token: await login(client, { ...owner, password }) };
		const body = { current_password: password };
		const changed = status === 403 ? { ...unlinker, password } : unlinker;
		const unlinking = await holding.during(
			() => unlink(id, unlinker.token, body),
			() => end(changed),
		);
		refused(unlinking.answer, status);
		assert.deepEqual([unlinking.held, await linked()], ["sso.unlink", [corp]]);
	});
}
