import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import type { Account } from "../../accounts/model.ts";
import { MAX_IDENTITIES, type ProviderRow, type SsoLogin } from "../../sso/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import {
	aBinding,
	aLink,
	aNewRealm,
	anAccount,
	anEvent,
	anIdentity,
	aRealm,
	aSession,
	MADE_AT,
	newId,
} from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about single sign-on. */
export async function ssoContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts, sso } = store;

	const event = () => anEvent({ type: "auth.login" });
	const digest = () => hash("sha256", newId(), "buffer");

	async function add(given: Parameters<typeof anAccount>[0] = {}) {
		const account = anAccount(given);
		await accounts.register(account, anEvent());
		return account;
	}

	/** The first account is the instance admin. */
	await add();

	const someone = anIdentity;

	function aLogin(user_id: string, given: Partial<SsoLogin> = {}): SsoLogin {
		return {
			identity: someone(),
			link_id: newId(),
			session: aSession(user_id),
			known: { pair: digest(), seen_at: MADE_AT, renew_before: MADE_AT },
			arrival: { kind: "known" },
			used: [],
			roles: [],
			...given,
		};
	}

	/** A person who has signed in through the provider before. */
	async function arrived(is_vouched = true) {
		const account = anAccount({ password: null });
		const login = aLogin(account.id, { arrival: { kind: "created", account, is_vouched } });
		assert.equal(await sso.signIn(login, event()), "done");
		return { account, identity: login.identity, link_id: login.link_id };
	}

	test("a provider is read as it was written, and one of the same name takes its place", async () => {
		const row: ProviderRow = {
			...{ id: newId(), name: "corp", type: "oidc", display_name: "Corp", sealed: Buffer.from("sealed") },
			...{ created_by: "ada", created_at: MADE_AT },
		};
		await sso.setProvider(row, anEvent());
		const other = { ...row, id: newId(), type: "saml" as const, sealed: Buffer.from("other") };
		const replace = (replaces: string) => sso.setProvider({ ...other, replaces }, anEvent());
		assert.deepEqual([await replace("another"), await sso.providers()], [false, [row]]);
		assert.deepEqual([await replace(row.id), await sso.providers()], [true, [other]]);
		assert.equal(await sso.removeProvider("corp", anEvent()), true);
		assert.equal(await sso.removeProvider("corp", anEvent()), false);
		assert.deepEqual([await sso.provider("corp"), await sso.providers()], [undefined, []]);
	});

	test("a new person gets an account without a password and without rights, an identity and a session", async () => {
		const { account, identity, link_id } = await arrived();
		assert.deepEqual(await accounts.byId(account.id), account);
		assert.equal(await sso.owner(identity), account.id);
		assert.deepEqual(await sso.identitiesOf(account.id), [
			{ ...identity, id: link_id, is_vouched: true, made_account: true, created_at: MADE_AT },
		]);
	});

	test("the same subject elsewhere is somebody else", async () => {
		const { identity } = await arrived();
		for (const change of [{ provider: "other" }, { issuer: "https://id.example.org" }, { subject: "A" }]) {
			assert.equal(await sso.owner({ ...identity, ...change }), undefined);
		}
	});

	test("one of ten logins of a new person that are decided at once adds the account, and nine have to be decided again", async () => {
		const identity = someone();
		const outcomes = await Promise.all(
			Array.from({ length: 10 }, () => {
				const account = anAccount({ password: null });
				return sso.signIn(
					aLogin(account.id, { identity, arrival: { kind: "created", account, is_vouched: true } }),
					event(),
				);
			}),
		);
		assert.deepEqual(outcomes.sort(), [...Array.from({ length: 9 }, () => "changed"), "done"]);
	});

	test("what is valid for one login is valid for one, also when fifty come at once, and then nothing is opened", async () => {
		const { account, identity } = await arrived();
		const used = [{ digest: digest(), until: MADE_AT }];
		const logins = Array.from({ length: 50 }, () => aLogin(account.id, { identity, used }));
		const outcomes = await Promise.all(logins.map((login) => sso.signIn(login, event())));
		assert.deepEqual(
			[outcomes.filter((one) => one === "done").length, outcomes.filter((one) => one === "replay").length],
			[1, 49],
		);
		const open = await Promise.all(
			logins.map(({ session }) => accounts.sessionOwner(session.jti, account.id, MADE_AT)),
		);
		assert.equal(open.filter((owner) => owner !== undefined).length, 1);
	});

	test("something that was used is remembered until it need not be", async () => {
		const used = { digest: digest(), until: "2030-01-01T00:10:00.000Z" };
		assert.deepEqual([await sso.consume(used), await sso.consume(used)], [true, false]);
		assert.equal(await sso.signIn(aLogin((await arrived()).account.id, { used: [used] }), event()), "changed");
		await sso.forgetUsed("2030-01-01T00:10:00.000Z");
		assert.equal(await sso.consume(used), false);
		assert.ok((await sso.forgetUsed("2030-01-01T00:10:00.001Z")) >= 1);
		assert.equal(await sso.consume(used), true);
	});

	test("a login that was decided on what is no longer so changes nothing", async () => {
		const { account, identity } = await arrived();
		const taken = anAccount({ password: null, email: account.email });
		const withPassword = await add();
		const admin = await accounts.byId((await accounts.list("", 1))[0]?.id ?? "");
		await accounts.setDisabled({ user_id: (await arrived()).account.id, disabled_at: MADE_AT }, anEvent());
		const disabled = await arrived();
		await accounts.setDisabled({ user_id: disabled.account.id, disabled_at: MADE_AT }, anEvent());
		const unvouched = (await arrived(false)).account;
		const elsewhere = { ...someone(), provider: "second" };
		const used = [{ digest: digest(), until: MADE_AT }];
		const logins: [string, SsoLogin][] = [
			[
				"an e-mail is taken",
				aLogin(taken.id, { used, arrival: { kind: "created", account: taken, is_vouched: true } }),
			],
			["the identity has an owner", aLogin(account.id, { used, identity, arrival: { kind: "linked" } })],
			["the identity is another's", aLogin(withPassword.id, { used, identity })],
			["nobody has the identity", aLogin(account.id, { used })],
			["the account has a password", aLogin(withPassword.id, { used, arrival: { kind: "linked" } })],
			["the account is the instance admin's", aLogin(admin?.id ?? "", { used, arrival: { kind: "linked" } })],
			[
				"its holder was not vouched for",
				aLogin(unvouched.id, { used, identity: elsewhere, arrival: { kind: "linked" } }),
			],
			["somebody of the provider has it", aLogin(account.id, { used, arrival: { kind: "linked" } })],
			["the account is disabled", aLogin(disabled.account.id, { used, identity: disabled.identity })],
		];
		const start = await countEvents(store);
		for (const [why, login] of logins) assert.equal(await sso.signIn(login, event()), "changed", why);
		assert.equal(await countEvents(store), start);
		assert.equal(await sso.consume(used[0] ?? assert.fail()), true, "nothing was used up");
	});

	test("an account without a password is linked, and then known by both", async () => {
		const { account, identity } = await arrived();
		const other = { ...someone(), provider: "second" };
		const login = aLogin(account.id, { identity: other, arrival: { kind: "linked" } });
		assert.equal(await sso.signIn(login, event()), "done");
		assert.deepEqual([await sso.owner(other), await sso.owner(identity)], [account.id, account.id]);
	});

	test("an identity is linked by hand once, with one account", async () => {
		const [first, second] = [await add(), await add()];
		const identity = someone();
		const link = (who: typeof first) => sso.link(aLink(who, identity), anEvent());
		assert.deepEqual([await link(first), await link(first), await link(second)], ["done", "done", "linked_elsewhere"]);
		assert.equal(await sso.owner(identity), first.id);
	});

	test("a link is not made once what showed the owner is not so any more", async () => {
		const account = await add();
		assert.equal(
			await sso.link({ ...aLink(account), proof: { password: "another hash", jti: "" } }, anEvent()),
			"unproven",
		);
		assert.equal(await sso.link({ ...aLink(account), proof: { password: null, jti: "" } }, anEvent()), "unproven");
		const login = aLogin("", { arrival: { kind: "known" } });
		const person = anAccount({ password: null });
		const session = aSession(person.id, { provider: "corp" });
		const made = { ...login, session, arrival: { kind: "created", account: person, is_vouched: true } as const };
		assert.equal(await sso.signIn(made, event()), "done");
		for (const provider of ["", "elsewhere"]) {
			const other = aSession(person.id, { provider });
			await accounts.openSession({ session: other, password: null }, anEvent());
			assert.equal(await sso.link(aLink(person, someone(), other.jti), anEvent()), "unproven", provider);
		}
		assert.equal(await sso.link(aLink(person, someone(), session.jti), anEvent()), "done");
		assert.equal((await sso.identitiesOf(person.id)).length, 2);
		assert.deepEqual(await sso.identitiesOf(account.id), []);
	});

	test("an account has a limited number of identities", async () => {
		const account = await add();
		const outcomes: string[] = [];
		for (let count = 0; count <= MAX_IDENTITIES; count++) outcomes.push(await sso.link(aLink(account), anEvent()));
		assert.deepEqual(outcomes, [...Array.from({ length: MAX_IDENTITIES }, () => "done"), "full"]);
	});

	test("an identity is unlinked by its owner alone, and the last way to sign in stays", async () => {
		const [account, other] = [await add(), await add()];
		const linked = aLink(account);
		assert.equal(await sso.link(linked, anEvent()), "done");
		const unlink = (who: Account, id: string, proof = { password: who.password, jti: "" }) =>
			sso.unlink({ id, user_id: who.id, proof }, anEvent({ type: "sso.identity.unlinked" }));
		assert.equal(await unlink(other, linked.id), "unknown");
		assert.equal(await unlink(account, linked.id, { password: "another hash", jti: "" }), "unproven");
		assert.equal(await sso.owner(linked.identity), account.id);
		const start = await countEvents(store);
		assert.deepEqual([await unlink(account, linked.id), await unlink(account, linked.id)], ["done", "unknown"]);
		assert.equal(await sso.owner(linked.identity), undefined);
		assert.deepEqual(await eventsAfter(store, start), [["sso.identity.unlinked", { provider: "corp" }]]);

		const person = anAccount({ password: null });
		const session = aSession(person.id, { provider: "corp" });
		const login = aLogin(person.id, { session, arrival: { kind: "created", account: person, is_vouched: true } });
		await sso.signIn(login, event());
		const proof = { password: null, jti: session.jti };
		assert.equal(await unlink(person, login.link_id, proof), "last");
		const second = aLink(person, { ...someone(), provider: "gone" }, session.jti);
		assert.equal(await sso.link(second, anEvent()), "done");
		assert.equal(await unlink(person, login.link_id, proof), "last", "there is no such provider to sign in at");
		const row = { id: newId(), name: "gone", type: "oidc", display_name: "", sealed: Buffer.from("s") } as const;
		await sso.setProvider({ ...row, created_by: "ada", created_at: MADE_AT }, anEvent());
		assert.equal(await unlink(person, login.link_id, proof), "done");
		await sso.removeProvider("gone", anEvent());
	});

	test("groups give roles, change them and take them, and leave alone what somebody else gave", async () => {
		const { account, identity } = await arrived();
		const owner = await add();
		const [given, own, byHand] = [aRealm(owner.id), aRealm(account.id), aRealm(owner.id)];
		for (const realm of [given, own, byHand]) await store.realms.create(aNewRealm(realm), anEvent());
		await store.policy.bind(aBinding(byHand.id, account.id, { role: "viewer", granted_by: owner.id }), anEvent());
		const roleIn = async (slug: string) => (await store.realms.access(slug, account.id))?.role;
		const roles = () => Promise.all([given, own, byHand].map(({ slug }) => roleIn(slug)));
		const steps = [
			["member", ["member", "admin", "viewer"]],
			["admin", ["admin", "admin", "viewer"]],
			[undefined, [null, "admin", "viewer"]],
		] as const;
		for (const [role, expected] of steps) {
			const mapped = [given.id, own.id, byHand.id, newId()].map((realm_id) => ({
				realm_id,
				role,
				id: newId(),
			}));
			assert.equal(await sso.signIn(aLogin(account.id, { identity, roles: mapped }), event()), "done");
			assert.deepEqual(await roles(), expected);
		}
	});

	test("a role that the settings no longer map is taken at the next login, and no other one", async () => {
		const { account, identity } = await arrived();
		const owner = await add();
		const [mapped, byHand] = [aRealm(owner.id), aRealm(owner.id)];
		for (const realm of [mapped, byHand]) await store.realms.create(aNewRealm(realm), anEvent());
		await store.policy.bind(aBinding(byHand.id, account.id, { role: "viewer", granted_by: owner.id }), anEvent());
		const roles = [{ realm_id: mapped.id, role: "admin" as const, id: newId() }];
		await sso.signIn(aLogin(account.id, { identity, roles }), event());
		assert.equal((await store.realms.access(mapped.slug, account.id))?.role, "admin");
		const start = await countEvents(store);
		await sso.signIn(aLogin(account.id, { identity, roles: [] }), event());
		assert.equal((await store.realms.access(mapped.slug, account.id))?.role, null);
		assert.equal((await store.realms.access(byHand.slug, account.id))?.role, "viewer");
		const types = (await eventsAfter(store, start, [mapped.id])).map(([type]) => type);
		assert.deepEqual(types, ["auth.login", "policy.binding.deleted"]);
	});

	test("a login's events say how the person came and which roles came with it", async () => {
		const realm = aRealm((await add()).id);
		await store.realms.create(aNewRealm(realm), anEvent());
		const account = anAccount({ password: null });
		const start = await countEvents(store);
		const roles = [{ realm_id: realm.id, role: "viewer" as const, id: newId() }];
		const came = anEvent({
			type: "auth.login",
			data: { method: "oidc", provider: "corp", request_id: "r", ip: "::1" },
		});
		const login = aLogin(account.id, { roles, arrival: { kind: "created", account, is_vouched: true } });
		await sso.signIn(login, came);
		assert.deepEqual(await eventsAfter(store, start, [realm.id]), [
			["auth.login", { ...came.data, arrival: "created", identity_id: login.link_id }],
			[
				"policy.binding.created",
				{ user_id: account.id, granted_by: "sso:corp", role: "viewer", request_id: "r", ip: "::1" },
			],
		]);
	});
}
