import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { events, newest } from "../harness/events.ts";
import { fields, ok, refused, sameRefusal } from "../harness/expect.ts";
import { person as account, invitation, realm } from "../harness/fixtures.ts";
import type { Login, Realm } from "../harness/resources.ts";
import { GROUPS, group, PEOPLE, person, type Slapd, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type LdapWorld, startLdapWorld } from "./ldap-world.ts";

const real = { skip: skipWithoutSlapd };
const PASSWORD = "canary of alice's password";
const ALICE = `uid=alice,${PEOPLE}`;

/** Entries of the directory, one with the e-mail of an account, written in another way. */
const entriesWith = (taken: string) =>
	[
		person("alice", PASSWORD),
		person("bob", "bob's password"),
		person("guest", "g's password"),
		`dn: uid=taker,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: taker\ncn: T\nsn: T\nmail: ${taken.toUpperCase()}\nuserPassword: t's password\n\n`,
		`dn: uid=mailless,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: mailless\ncn: M\nsn: M\nuserPassword: m's password\n\n`,
		group("devs", ALICE),
	].join("");

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: LdapWorld;
let slapd: Slapd;

before(async () => {
	if (skipWithoutSlapd !== false) return;
	world = await startLdapWorld();
	ends.defer(world.close);
	slapd = await startSlapd({ entries: entriesWith(world.root.email) });
	ends.defer(slapd.stop);
	await world.set("corp", settings());
});

const settings = (more: object = {}) => ({
	url: slapd.ldaps_url,
	ca_cert: slapd.ca,
	bind_dn: slapd.bind_dn,
	bind_password: slapd.bind_password,
	group_base_dn: GROUPS,
	...more,
});

test(
	"signing in ends with a session of the person, and the same person is one account, however named",
	real,
	async () => {
		assert.equal((await world.tested("corp")).status, "healthy");
		const first = ok(await world.signIn("corp", "alice", PASSWORD));
		fields(first, ["token", "expires_at", "user"]);
		fields(first.user, ["id", "email", "name"]);
		assert.deepEqual([first.user.email, first.user.name], ["alice@example.com", "alice Example"]);
		assert.ok(Math.abs(first.expires_at - Date.now() / 1000 - 24 * 3600) < 120);
		ok(await world.client.get("/realms", { token: first.token }));
		for (const username of ["alice", "ALICE", ALICE, "UID=alice, ou=People,dc=test"]) {
			assert.equal(ok(await world.signIn("corp", username, PASSWORD)).user.id, first.user.id, username);
		}
		assert.notEqual(ok(await world.signIn("corp", "bob", "bob's password")).user.id, first.user.id);
		const logins = await events(world.client, world.root, "type=auth.login");
		assert.equal(logins.filter(({ data }) => data.method === "ldap" && data.provider === "corp").length, 6);
	},
);

test("another provider for the same directory is its own: StartTLS, and a filter with more in it", real, async () => {
	const own = {
		auto_provision: false,
		url: slapd.ldap_url,
		start_tls: true,
		user_filter: "(&(sn=Example)(uid={username}))",
	};
	await world.set("second", settings(own));
	assert.equal((await world.tested("second")).status, "healthy");
	await world.refusals();
	refused(await world.signIn("second", "alice", PASSWORD), 409, "conflict");
	refused(await world.signIn("second", "mailless", "m's password"), 401, "invalid_credentials");
	assert.deepEqual(
		(await world.refusals()).map(({ data }) => data.reason),
		["email_taken", "unknown"],
	);
});

test("a provider that makes no accounts makes one for somebody who was invited", real, async () => {
	await world.set("invited", settings({ auto_provision: false }));
	const signIn = (code?: string) =>
		world.client.post<Login>("/auth/ldap/invited/login", {
			...{ username: "guest", password: "g's password" },
			...(code !== undefined && { invitation: code }),
		});
	const shop = await realm(world.client, world.root);
	const bindings = [{ realm: shop.slug, role: "viewer" }];
	const { code } = await invitation(world.client, world.root, { email: "guest@example.com", bindings });
	refused(await signIn(), 403, "registration_disabled");
	refused(await signIn("wrong"), 401, "invalid_credentials");
	const { token } = ok(await signIn(code));
	ok(await world.client.get(`/realms/${shop.slug}`, { token }));
	ok(await signIn(), 200);
});

test(
	"a wrong password and an unknown person are answered alike, and only the audit log tells them apart",
	real,
	async () => {
		await world.refusals();
		const wrong = await world.signIn("corp", "alice", "canary of a wrong one");
		refused(wrong, 401, "invalid_credentials");
		const unknown = await world.signIn("corp", "canary-of-nobody", "canary of a wrong one");
		sameRefusal(wrong, unknown);
		refused(await world.signIn("corp", "mailless", "m's password"), 400, "validation_failed");
		const written = await world.refusals();
		assert.deepEqual(
			written.map(({ data: { method, provider, reason } }) => [method, provider, reason]),
			[
				["ldap", "corp", "password"],
				["ldap", "corp", "unknown"],
				["ldap", "corp", "email_missing"],
			],
		);
		const said = [wrong.text, JSON.stringify(written), world.server.stdout(), world.server.stderr()].join();
		for (const canary of [/canary/, new RegExp(slapd.bind_password), /uid=alice/i]) assert.doesNotMatch(said, canary);
	},
);

test("a person of the directory with the e-mail of an account does not come into it", real, async () => {
	await world.set("taken", settings({ trusted_email_domains: ["example.test"] }));
	await world.refusals();
	refused(await world.signIn("taken", "taker", "t's password"), 409, "conflict");
	assert.deepEqual(
		(await world.refusals()).map(({ data }) => data.reason),
		["email_taken"],
	);
});

test("groups give roles at every login", real, async () => {
	const owner = await account(world.client, "owner");
	const { slug } = await realm(world.client, owner);
	const seen = async (token: string) =>
		ok(await world.client.get<{ realms: Realm[] }>("/realms", { token })).realms.map((one) => one.slug);
	await world.set("corp", settings({ role_mappings: [{ group: "devs", realm: slug, role: "member" }] }));
	assert.deepEqual(await seen(ok(await world.signIn("corp", "alice", PASSWORD)).token), [slug]);
	assert.deepEqual(await seen(ok(await world.signIn("corp", "bob", "bob's password")).token), []);
	await world.set(
		"corp",
		settings({
			group_filter: "(&(cn=other)(member={dn}))",
			role_mappings: [{ group: "devs", realm: slug, role: "member" }],
		}),
	);
	assert.deepEqual(await seen(ok(await world.signIn("corp", "alice", PASSWORD)).token), []);
});

test("somebody who is signed in links an identity of the directory with the own account", real, async () => {
	const carol = await account(world.client, "carol");
	await world.set("linked", settings({ auto_provision: false }));
	const link = (password: string) =>
		world.client.post(
			"/auth/ldap/linked/link",
			{ username: "bob", password, current_password: carol.password },
			{ token: carol.token },
		);
	refused(await link("not his password"), 401, "invalid_credentials");
	ok(await link("bob's password"));
	assert.equal(ok(await world.signIn("linked", "bob", "bob's password")).user.id, carol.id);
	const linked = await newest(world.client, world.root, "sso.identity.linked");
	assert.deepEqual([linked?.actor, linked?.data.provider, linked?.data.method], [carol.id, "linked", "ldap"]);
	const dave = await account(world.client, "dave");
	const credentials = { username: "bob", password: "bob's password", current_password: dave.password };
	refused(await world.client.post("/auth/ldap/linked/link", credentials, { token: dave.token }), 409, "conflict");
	const failed = await newest(world.client, world.root, "auth.login.failed");
	assert.deepEqual([failed?.actor, failed?.data.reason], [dave.id, "linked_elsewhere"]);
});
