import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { type Account, MAX_ACCOUNTS, MAX_SESSIONS } from "../../../accounts/model.ts";
import { MAX_BINDINGS } from "../../../policy/model.ts";
import { countEvents, eventsAfter } from "../../../testing/events.ts";
import { aBinding, anAccount, anEvent, anIdentity, aSession, aToken, MADE_AT, newId } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { openTestStore } from "../../../testing/store.ts";
import { MAX_TOKENS } from "../../../tokens/model.ts";

const { store, file } = await openTestStore({ after });
const { accounts, policy, tokens } = store;
const root = await addAccount(store);

/** Writes rows straight into the file, which is quicker, and ends the turn of the event loop: reads within it would not see them. */
async function fill(count: number, sql: string, rowOf: (index: number) => unknown[]): Promise<void> {
	const db = new Database(file);
	const insert = db.prepare(sql);
	db.transaction(() => {
		for (let index = 0; index < count; index++) insert.run(...rowOf(index));
	})();
	db.close();
	await nextTurn();
}

const at = (ms: number) => new Date(Date.parse(MADE_AT) + ms).toISOString();
const DAY_MS = 24 * 60 * 60 * 1000;

/** Gives an account tokens that end at an instant, or never. */
const fillTokens = (user_id: string, count: number, endOf: (index: number) => string | null) =>
	fill(
		count,
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, created_at, expires_at) VALUES (?, ?, '', '', randomblob(32), 'read', ?, ?)",
		(index) => [newId(), user_id, MADE_AT, endOf(index)],
	);

test("an account has so many API tokens that have not expired and no more; the others do not count", async () => {
	const ada = await addAccount(store);
	await fillTokens(ada.id, MAX_TOKENS - 2, (index) => (index % 2 === 0 ? null : at(1)));
	await fillTokens(ada.id, 5, () => MADE_AT);
	const create = (given: Parameters<typeof aToken>[1] = {}) => tokens.create(aToken(ada.id, given), anEvent());
	const start = await countEvents(store);
	assert.deepEqual([await create(), await create({ expires_at: at(5) })], ["done", "done"]);
	assert.deepEqual([await create(), await create({ expires_at: at(5) })], ["limit_reached", "limit_reached"]);
	assert.equal(await countEvents(store), start + 2, "a refusal changes nothing");
	assert.equal(await create({ created_at: at(1) }), "done", "half of them have expired by then");
	assert.equal(await tokens.create(aToken(root.id), anEvent()), "done", "others' tokens do not count");
});

test("of tokens that have expired an account keeps so many, the latest, however many it makes", async () => {
	const ada = await addAccount(store);
	await fillTokens(ada.id, MAX_TOKENS + 3, (index) => at(-index));
	const token = aToken(ada.id, { expires_at: at(5) });
	assert.equal(await tokens.create(token, anEvent()), "done");
	assert.equal(await tokens.count(ada.id), MAX_TOKENS + 1);
	const kept = await tokens.list(ada.id, "", MAX_TOKENS + 10);
	assert.ok(kept.every(({ expires_at }) => (expires_at ?? "") >= at(-MAX_TOKENS + 1)));
});

test("tokens that expired long ago are forgotten, and no other ones, however many there are", async () => {
	const ada = await addAccount(store);
	await fillTokens(ada.id, 2500, () => at(-31 * DAY_MS));
	await fillTokens(ada.id, 2, () => at(-29 * DAY_MS));
	await fillTokens(ada.id, 3, () => null);
	assert.equal(await tokens.forgetExpired(at(-30 * DAY_MS)), 2500);
	assert.equal(await tokens.count(ada.id), 5);
});

const isOpen = async (jti: string, user_id: string) =>
	(await accounts.sessionOwner(jti, user_id, MADE_AT)) !== undefined;

/** Gives an account the maximum number of sessions; the first is the oldest, and remembered. */
async function fillSessions(user: Account): Promise<string[]> {
	const ids = Array.from({ length: MAX_SESSIONS }, newId);
	await fill(
		MAX_SESSIONS,
		"INSERT INTO session (jti, user_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
		(index) => [ids[index], user.id, at(index - MAX_SESSIONS), at(DAY_MS)],
	);
	assert.ok(await isOpen(ids[0] ?? "", user.id));
	return ids;
}

test("a session beyond an account's most ends the oldest at once, also where it is remembered, and the event says so", async () => {
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

/** A sign-in at a provider that gives roles. */
const signIn = (user_id: string, realm: string, role: "viewer" | "member", identity = anIdentity()) =>
	store.sso.signIn(
		{
			identity,
			link_id: newId(),
			session: aSession(user_id),
			known: { pair: Buffer.alloc(32, user_id), seen_at: MADE_AT, renew_before: MADE_AT },
			arrival: { kind: "linked" },
			used: [],
			roles: [{ realm, role, id: newId() }],
		},
		anEvent({ type: "auth.login" }),
	);

test("a sign-in at a provider ends the oldest session, too", async () => {
	const ada = await addAccount(store, { password: null });
	const [first = "", second = ""] = await fillSessions(ada);
	assert.equal(await signIn(ada.id, "none", "viewer"), "done");
	assert.deepEqual([await isOpen(first, ada.id), await isOpen(second, ada.id)], [false, true]);
});

test("a realm has so many bindings and no more; a sign-in beyond it goes without the role, and its event says so", async () => {
	const realm = await addRealm(store, root);
	const people = await Promise.all(
		Array.from({ length: MAX_BINDINGS + 1 }, () => addAccount(store, { password: null })),
	);
	const [first, second, third] = people;
	assert.ok(first && second && third);
	const ids = people.slice(3).map(({ id }) => id);
	await fill(ids.length, "INSERT INTO binding VALUES (?, ?, ?, 'viewer', 'root', '')", (index) => [
		newId(),
		realm.id,
		ids[index],
	]);
	const bind = (user: Account) => policy.bind(aBinding(realm.id, user.id), anEvent());
	const identity = anIdentity();
	assert.equal(await signIn(first.id, realm.slug, "viewer", identity), "done", "the last but one");
	assert.equal(await bind(second), "done");
	assert.deepEqual([await bind(second), await bind(third)], ["exists", "limit_reached"]);
	const start = await countEvents(store);
	assert.equal(await signIn(third.id, realm.slug, "viewer"), "done");
	assert.equal((await store.realms.access(realm.slug, third.id))?.role, null);
	assert.deepEqual(await eventsAfter(store, start, [realm.id]), [
		["auth.login", { arrival: "linked", roles_left_out: realm.slug }],
	]);
	await policy.unbind({ realm_id: realm.id, user_id: second.id }, anEvent());
	assert.equal(await bind(third), "done");
	assert.equal(await policy.count(realm.id), MAX_BINDINGS);
});

test("in a full realm a provider still changes and takes back the roles that it gave", async () => {
	const realm = await addRealm(store, root);
	const people = await Promise.all(Array.from({ length: MAX_BINDINGS }, () => addAccount(store, { password: null })));
	const [first, ...others] = people;
	assert.ok(first);
	assert.equal(await signIn(first.id, realm.slug, "viewer"), "done");
	await fill(others.length, "INSERT INTO binding VALUES (?, ?, ?, 'viewer', 'root', '')", (index) => [
		newId(),
		realm.id,
		others[index]?.id,
	]);
	const [identity] = await store.sso.identitiesOf(first.id);
	assert.ok(identity);
	const roleOf = async () => (await store.realms.access(realm.slug, first.id))?.role;
	const again = (roles: { realm: string; role: "member"; id: string }[]) =>
		store.sso.signIn(
			{
				identity,
				link_id: newId(),
				session: aSession(first.id),
				known: { pair: Buffer.alloc(32, first.id), seen_at: MADE_AT, renew_before: MADE_AT },
				arrival: { kind: "known" },
				used: [],
				roles,
			},
			anEvent({ type: "auth.login" }),
		);
	assert.equal(await again([{ realm: realm.slug, role: "member", id: newId() }]), "done");
	assert.equal(await roleOf(), "member");
	assert.equal(await again([]), "done");
	assert.equal(await roleOf(), null);
});

test("who registers without the instance admin finds so many accounts and no more; with it there is no such end", async () => {
	const register = (most?: number) =>
		accounts.register({ ...anAccount(), ...(most === undefined ? {} : { most }) }, anEvent());
	const count = await accounts.count();
	assert.deepEqual(await register(count + 1), { outcome: "done", first: false });
	assert.deepEqual(await register(count + 1), { outcome: "limit_reached" });
	assert.deepEqual(await register(MAX_ACCOUNTS), { outcome: "done", first: false });
	assert.deepEqual(await register(), { outcome: "done", first: false });
});

test("who is nearest to a limit is named, the fullest first, with what has ended left out", async () => {
	const ada = await addAccount(store, { email: "ada@example.com" });
	await fillTokens(ada.id, 1, () => null);
	await fillTokens(ada.id, 5, () => MADE_AT);
	const max = {
		accounts: 1,
		realm_bytes: 1,
		realms_per_account: 1,
		bindings_per_realm: MAX_BINDINGS,
		tokens_per_account: MAX_TOKENS,
		sessions_per_account: MAX_SESSIONS,
	};
	const found = await store.realms.fullest({ max, now: MADE_AT });
	assert.deepEqual(found.accounts, [{ name: "", used: await accounts.count(), max: 1 }]);
	assert.deepEqual(
		found.tokens_per_account.find(({ name }) => name === "ada@example.com"),
		{ name: "ada@example.com", used: 1, max: MAX_TOKENS },
	);
	assert.equal(found.bindings_per_realm[0]?.used, MAX_BINDINGS);
	assert.equal(found.sessions_per_account[0]?.used, MAX_SESSIONS);
	assert.deepEqual((await store.realms.fullest({ max, now: at(DAY_MS) })).sessions_per_account, []);
});
