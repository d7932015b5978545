import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { type Account, MAX_ACCOUNTS, MAX_SESSIONS } from "../../accounts/model.ts";
import { MAX_MACHINE_TOKENS, MAX_MACHINES, MAX_TRUSTED_TOKENS } from "../../machines/model.ts";
import { MAX_BINDINGS, MAX_MEMBERSHIPS } from "../../policy/model.ts";
import type { Realm } from "../../realms/model.ts";
import { MAX_ROWS } from "../../realms/row-limits.ts";
import { MAX_IDENTITIES, type SsoLogin } from "../../sso/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import {
	aBinding,
	aMachine,
	aMachineToken,
	anAccount,
	anEvent,
	anIdentity,
	aSession,
	aToken,
	aTrust,
	MADE_AT,
	newId,
} from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { MAX_TOKENS } from "../../tokens/model.ts";
import { MAX_TRUSTS, MAX_USED } from "../../trusts/model.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about limits of rows. */
export async function rowLimitContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts, policy, tokens } = store;
	const root = await addAccount(store);

	const at = (ms: number) => new Date(Date.parse(MADE_AT) + ms).toISOString();
	const DAY_MS = 24 * 60 * 60 * 1000;
	const times = <T>(count: number, make: (index: number) => Promise<T>) =>
		Promise.all(Array.from({ length: count }, (_, index) => make(index)));

	type Given = Parameters<typeof aToken>[1];
	const create = (user_id: string, given: Given = {}) => tokens.create(aToken(user_id, given), anEvent());
	async function addTokens(user_id: string, count: number, given: (index: number) => Given): Promise<void> {
		const outcomes = await times(count, (index) => create(user_id, given(index)));
		assert.deepEqual(new Set(outcomes), new Set(["done"]));
	}

	test("an account's unexpired API tokens are limited; expired ones do not count", async () => {
		const ada = await addAccount(store);
		await addTokens(ada.id, 5, () => ({ created_at: at(-1), expires_at: MADE_AT }));
		await addTokens(ada.id, MAX_TOKENS - 2, (index) => ({ expires_at: index % 2 === 0 ? null : at(1) }));
		const start = await countEvents(store);
		const soon = { expires_at: at(5) };
		assert.deepEqual([await create(ada.id), await create(ada.id, soon)], ["done", "done"]);
		assert.deepEqual([await create(ada.id), await create(ada.id, soon)], ["limit_reached", "limit_reached"]);
		assert.equal(await countEvents(store), start + 2, "a refusal changes nothing");
		assert.equal(await create(ada.id, { created_at: at(1) }), "done", "half of them have expired by then");
		assert.equal(await create(root.id), "done", "others' tokens do not count");
	});

	test("an account keeps a limited number of expired tokens, the latest ones", async () => {
		const ada = await addAccount(store);
		const many = MAX_TOKENS + 3;
		// Each has expired when the next one is made.
		await addTokens(ada.id, many, (index) => ({ created_at: at(index - many), expires_at: at(index + 1 - many) }));
		assert.equal(await create(ada.id, { expires_at: at(5) }), "done");
		assert.equal(await tokens.count(ada.id), MAX_TOKENS + 1);
		const kept = await tokens.list(ada.id, "", MAX_TOKENS + 10);
		assert.ok(kept.every(({ expires_at }) => (expires_at ?? "") >= at(-MAX_TOKENS + 1)));
	});

	test("only tokens that expired long ago are forgotten, however many there are", async () => {
		const people = await times(3, () => addAccount(store));
		for (const { id } of people) {
			await addTokens(id, 500, () => ({ created_at: at(-32 * DAY_MS), expires_at: at(-31 * DAY_MS) }));
			await addTokens(id, 2, () => ({ created_at: at(-32 * DAY_MS), expires_at: at(-29 * DAY_MS) }));
			await addTokens(id, 3, () => ({}));
		}
		assert.equal(await tokens.forgetExpired(at(-30 * DAY_MS)), 1500);
		for (const { id } of people) assert.equal(await tokens.count(id), 5);
		assert.equal(await tokens.forgetExpired(at(-30 * DAY_MS)), 0);
	});

	const isOpen = async (jti: string, user_id: string) =>
		(await accounts.sessionOwner(jti, user_id, MADE_AT)) !== undefined;

	/** Opens the maximum number of sessions of an account; the first is the oldest, and remembered. */
	async function fillSessions(user: Account): Promise<string[]> {
		const ids = await times(MAX_SESSIONS, async (index) => {
			const session = aSession(user.id, { created_at: at(index - MAX_SESSIONS) });
			assert.ok(await accounts.openSession({ session, password: user.password }, anEvent()));
			return session.jti;
		});
		assert.ok(await isOpen(ids[0] ?? "", user.id));
		return ids;
	}

	test("a session beyond an account's limit immediately ends the oldest, also in caches, and the event says so", async () => {
		const [ada, bob] = [await addAccount(store), await addAccount(store)];
		const [first = "", second = ""] = await fillSessions(ada);
		const [others = ""] = await fillSessions(bob);
		const start = await countEvents(store);
		const session = aSession(ada.id);
		assert.equal(await accounts.openSession({ session, password: ada.password }, anEvent()), true);
		const open = [first, second, session.jti].map((jti) => isOpen(jti, ada.id));
		assert.deepEqual(await Promise.all(open), [false, true, true]);
		assert.ok(await isOpen(others, bob.id));
		assert.equal((await accounts.holdings(ada.id, MADE_AT)).sessions, MAX_SESSIONS);
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { sessions_ended: 1 }]]);
	});

	/** Signs in at a provider that gives roles. */
	function signIn(user_id: string, given: Partial<SsoLogin> & Pick<SsoLogin, "roles">) {
		const login: SsoLogin = {
			identity: anIdentity(),
			link_id: newId(),
			session: aSession(user_id),
			known: { pair: Buffer.alloc(32, user_id), seen_at: MADE_AT, renew_before: MADE_AT },
			arrival: { kind: "linked" },
			used: [],
			...given,
		};
		return store.sso.signIn(login, anEvent({ type: "auth.login" }));
	}
	const aRole = (realm_id: string, role: "viewer" | "member" = "viewer") => [{ realm_id, role, id: newId() }];

	test("a sign-in through a provider also ends the oldest session", async () => {
		const ada = await addAccount(store, { password: null });
		const [first = "", second = ""] = await fillSessions(ada);
		assert.equal(await signIn(ada.id, { roles: [] }), "done");
		assert.deepEqual([await isOpen(first, ada.id), await isOpen(second, ada.id)], [false, true]);
	});

	test("a realm's bindings are limited; a sign-in beyond the limit leaves the role out, and its event says so", async () => {
		const realm = await addRealm(store, root);
		const people = await times(MAX_BINDINGS + 1, () => addAccount(store, { password: null }));
		const [first, second, third, ...others] = people;
		assert.ok(first && second && third);
		const bind = ({ id }: Account) => policy.bind(aBinding(realm.id, id), anEvent());
		await Promise.all(others.map(bind));
		const identity = anIdentity();
		const known = { identity, arrival: { kind: "known" } } as const;
		assert.equal(await signIn(first.id, { identity, roles: aRole(realm.id) }), "done", "the last but one");
		assert.equal(await bind(second), "done");
		assert.deepEqual([await bind(second), await bind(third)], ["exists", "limit_reached"]);
		const start = await countEvents(store);
		assert.equal(await signIn(third.id, { roles: aRole(realm.id) }), "bindings_per_realm");
		const roleOf = async ({ id }: Account) => (await store.realms.access(realm.slug, id))?.role;
		assert.equal(await roleOf(third), null);
		const [link] = await store.sso.identitiesOf(third.id);
		assert.deepEqual(await eventsAfter(store, start, [realm.id]), [
			["auth.login", { arrival: "linked", identity_id: link?.id, roles_left_out: realm.slug }],
		]);
		assert.equal(await signIn(first.id, { ...known, roles: aRole(realm.id, "member") }), "done");
		assert.equal(await roleOf(first), "member", "a role is changed in a full realm, too");
		await policy.unbind({ realm_id: realm.id, user_id: second.id }, anEvent());
		assert.equal(await bind(third), "done");
		assert.equal(await policy.count(realm.id), MAX_BINDINGS);
		assert.equal(await signIn(first.id, { ...known, roles: [] }), "done");
		assert.equal(await roleOf(first), null, "and revoked");
	});

	test("the realms in which others bind an account are limited; a sign-in leaves out the roles beyond, and removed ones make room", async () => {
		const account = await addAccount(store, { password: null });
		const owners = await times(5, () => addAccount(store));
		const realms = await times(MAX_MEMBERSHIPS + 1, (index) => addRealm(store, owners[index % 5] ?? root));
		const [first, second, third, ...others] = realms;
		assert.ok(first && second && third);
		const bind = ({ id }: Realm) => policy.bind(aBinding(id, account.id), anEvent());
		await Promise.all(others.map(bind));
		assert.deepEqual(
			[await bind(first), await bind(second), await bind(third)],
			["done", "done", "user_limit_reached"],
		);
		assert.equal(await store.realms.count(account.id, undefined), MAX_MEMBERSHIPS);
		const breakGlass = { ...aBinding(third.id, account.id), granted_by: account.id };
		assert.equal(await policy.bind(breakGlass, anEvent()), "done", "an instance admin still binds itself");
		await policy.unbind({ realm_id: third.id, user_id: account.id }, anEvent());
		const identity = anIdentity();
		assert.equal(await signIn(account.id, { identity, roles: aRole(third.id) }), "bindings_per_account");
		const roleIn = async ({ slug }: Realm) => (await store.realms.access(slug, account.id))?.role;
		assert.equal(await roleIn(third), null);
		await policy.unbind({ realm_id: first.id, user_id: account.id }, anEvent());
		const known = { identity, arrival: { kind: "known" } } as const;
		const roles = [...aRole(first.id), ...aRole(third.id)];
		assert.equal(await signIn(account.id, { ...known, roles }), "bindings_per_account", "one finds room");
		assert.deepEqual([await roleIn(first), await roleIn(third)], ["viewer", null]);
		assert.equal(await signIn(account.id, { ...known, roles: aRole(third.id) }), "done");
		assert.deepEqual([await roleIn(first), await roleIn(third)], [null, "viewer"]);
		assert.equal(await signIn(account.id, { ...known, roles: [] }), "done");
	});

	test("self-registered accounts are limited; accounts that the instance admin creates are not", async () => {
		const register = (most?: number) =>
			accounts.register({ ...anAccount(), ...(most === undefined ? {} : { most }) }, anEvent());
		const count = await accounts.count();
		assert.deepEqual(await register(count + 1), { outcome: "done", first: false, left_out: [] });
		assert.deepEqual(await register(count + 1), { outcome: "limit_reached" });
		assert.deepEqual(await register(MAX_ACCOUNTS), { outcome: "done", first: false, left_out: [] });
		assert.deepEqual(await register(), { outcome: "done", first: false, left_out: [] });
	});

	test("those nearest to a limit are named, fullest first, without what has ended", async () => {
		const ada = await addAccount(store, { email: "ada@example.com" });
		await addTokens(ada.id, 5, () => ({ created_at: at(-1), expires_at: MADE_AT }));
		await addTokens(ada.id, 1, () => ({}));
		const realm = await addRealm(store, ada);
		const machine = aMachine(realm.id);
		await store.machines.set(machine, anEvent());
		for (const given of [{}, { expires_at: MADE_AT }])
			await store.machines.addToken(aMachineToken(machine.id, given), anEvent());
		const trust = aTrust(machine.id);
		await store.trusts.set(trust, anEvent());
		for (const until of [MADE_AT, at(1)]) {
			const token = aMachineToken(machine.id, { trust_id: trust.id });
			const used = { digest: hash("sha256", token.id, "buffer"), realm_id: realm.id, until };
			assert.equal(await store.trusts.exchange({ token, used }, anEvent()), "done");
		}
		const max = { ...MAX_ROWS, accounts: 1, realm_bytes: 1, realms_per_account: 1 };
		const found = await store.realms.fullest({ max, now: MADE_AT });
		assert.deepEqual(found.accounts, [{ name: "", used: await accounts.count(), max: 1 }]);
		assert.deepEqual(
			found.tokens_per_account.find(({ name }) => name === "ada@example.com"),
			{ name: "ada@example.com", used: 1, max: MAX_TOKENS },
		);
		assert.equal(found.bindings_per_realm[0]?.used, MAX_BINDINGS - 1);
		assert.equal(found.bindings_per_account[0]?.used, MAX_MEMBERSHIPS - 1);
		assert.equal(found.sessions_per_account[0]?.used, MAX_SESSIONS);
		assert.equal(found.identities_per_account[0]?.used, 1);
		assert.equal(found.identities_per_account[0]?.max, MAX_IDENTITIES);
		const name = `${realm.slug}/${machine.name}`;
		assert.deepEqual(found.machines_per_realm, [{ name: realm.slug, used: 1, max: MAX_MACHINES }]);
		assert.deepEqual(found.tokens_per_machine, [{ name, used: 1, max: MAX_MACHINE_TOKENS }]);
		assert.deepEqual(found.trusted_tokens_per_machine, [{ name, used: 2, max: MAX_TRUSTED_TOKENS }]);
		assert.deepEqual(found.trusts_per_machine, [{ name, used: 1, max: MAX_TRUSTS }]);
		assert.deepEqual(found.used_jwts_per_realm, [{ name: realm.slug, used: 1, max: MAX_USED }]);
		assert.deepEqual((await store.realms.fullest({ max, now: at(DAY_MS) })).sessions_per_account, []);
	});
}
