import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { type KnownSource, MAX_KNOWN_SOURCES } from "../../accounts/model.ts";
import { countEvents } from "../../testing/events.ts";
import { anEvent, aSession, aToken, MADE_AT, newId, purgeable } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about what an account has: sessions, sources, limits of its own. */
export async function holdingContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts } = store;

	const LATER = "2030-01-03T00:00:00.000Z";
	const aSource = (seen_at = MADE_AT, renew_before = seen_at): KnownSource => ({
		pair: hash("sha256", newId(), "buffer"),
		seen_at,
		renew_before,
	});
	const isKnown = ({ pair }: KnownSource, since = "") => accounts.isKnownSource([pair], since);

	/** Opens a session from a source. */
	async function signIn(user: { id: string; password: string | null }, known: KnownSource) {
		const session = aSession(user.id);
		assert.ok(await accounts.openSession({ session, password: user.password, known }, anEvent()));
		return session;
	}

	test("a session reads as it was opened until it is closed", async () => {
		const ada = await addAccount(store);
		const session = await signIn(ada, aSource());
		assert.deepEqual(await accounts.session(session.jti), session);
		await accounts.closeSession(session.jti, anEvent());
		assert.equal(await accounts.session(session.jti), undefined);
	});

	test("an account's open sessions are listed in the order of their ids, page by page, and nobody else's", async () => {
		const [ada, bob] = [await addAccount(store), await addAccount(store)];
		const own = [await signIn(ada, aSource()), await signIn(ada, aSource()), await signIn(ada, aSource())];
		await signIn(bob, aSource());
		own.sort((one, other) => (one.jti < other.jti ? -1 : 1));
		assert.deepEqual(await accounts.sessions(ada.id, MADE_AT, "", 10), own);
		assert.deepEqual(await accounts.sessions(ada.id, MADE_AT, own[0]?.jti ?? "", 1), own.slice(1, 2));
		await accounts.closeSession(own[1]?.jti ?? "", anEvent());
		assert.deepEqual(await accounts.sessions(ada.id, MADE_AT, "", 10), [own[0], own[2]]);
		assert.deepEqual(await accounts.sessions(ada.id, LATER, "", 10), []);
	});

	test("an account's sessions, tokens and unpurged realms are counted", async () => {
		const ada = await addAccount(store);
		await signIn(ada, aSource());
		for (let count = 0; count < 2; count++) await store.tokens.create(aToken(ada.id), anEvent());
		const realms = [await addRealm(store, ada), await addRealm(store, ada), await addRealm(store, ada)];
		const counted = (now: string) => accounts.holdings(ada.id, now);
		assert.deepEqual(await counted(MADE_AT), { sessions: 1, tokens: 2, realms: 3 });
		assert.deepEqual(await counted(LATER), { sessions: 0, tokens: 2, realms: 3 });
		for (const { id } of realms.slice(1)) await store.realms.remove({ id, deleted_at: MADE_AT }, anEvent());
		await store.realms.purge(purgeable(realms[2]?.id ?? ""), anEvent());
		assert.deepEqual(await counted(MADE_AT), { sessions: 1, tokens: 2, realms: 2 });
		assert.deepEqual(await accounts.holdings("nobody", MADE_AT), { sessions: 0, tokens: 0, realms: 0 });
	});

	test("an account has the limits set last, or none of its own, and each change is an event", async () => {
		const ada = await addAccount(store);
		const none = { realm_bytes: null, realms: null };
		assert.deepEqual(await accounts.limits(ada.id), none);
		const start = await countEvents(store);
		for (const limits of [{ realm_bytes: 2 ** 40, realms: 0 }, { realm_bytes: 0, realms: null }, none]) {
			assert.equal(await accounts.setLimits({ user_id: ada.id, ...limits }, anEvent()), true);
			assert.deepEqual({ ...(await accounts.limits(ada.id)) }, limits);
		}
		assert.equal(await accounts.setLimits({ user_id: "nobody", ...none }, anEvent()), false);
		assert.equal(await countEvents(store), start + 3);
	});

	test("a source is known after a sign-in from it, if it was seen since an instant", async () => {
		const ada = await addAccount(store);
		const [known, other] = [aSource(), aSource()];
		assert.equal(await isKnown(known), false);
		await signIn(ada, known);
		assert.deepEqual([await isKnown(known), await isKnown(other)], [true, false]);
		assert.equal(await accounts.isKnownSource([other.pair, known.pair], ""), true);
		assert.deepEqual([await isKnown(known, MADE_AT), await isKnown(known, "2029-12-31T23:59:59.999Z")], [false, true]);
		await signIn(ada, { ...known, seen_at: LATER, renew_before: MADE_AT });
		assert.equal(await isKnown(known, MADE_AT), false, "it need not be renewed yet");
		await signIn(ada, { ...known, seen_at: LATER, renew_before: LATER });
		assert.equal(await isKnown(known, MADE_AT), true);
	});

	test("an account keeps the sources seen last, and loses all of them when it is disabled or its password changes", async () => {
		const [ada, bob] = [await addAccount(store), await addAccount(store)];
		const foreign = aSource();
		await signIn(bob, foreign);
		const at = (index: number) => new Date(Date.parse(MADE_AT) + index).toISOString();
		const sources = Array.from({ length: MAX_KNOWN_SOURCES + 2 }, (_, index) => aSource(at(index)));
		for (const source of sources) await signIn(ada, source);
		const known = await Promise.all(sources.map((source) => isKnown(source)));
		assert.deepEqual(known, [false, false, ...Array.from({ length: MAX_KNOWN_SOURCES }, () => true)]);
		const last = sources.at(-1) ?? assert.fail();
		const change = { user_id: ada.id, from: ada.password ?? "", password: "new", keep: "" };
		assert.equal(await accounts.setPassword({ ...change, known: aSource() }, anEvent()), "done");
		assert.equal(await isKnown(last), false);
		await signIn({ ...ada, password: "new" }, last);
		await accounts.setDisabled({ user_id: ada.id, disabled_at: MADE_AT }, anEvent());
		assert.deepEqual([await isKnown(last), await isKnown(foreign)], [false, true]);
	});

	test("only sources last seen before an instant are forgotten", async () => {
		const ada = await addAccount(store);
		const [old, recent] = [aSource("2020-01-01T00:00:00.000Z"), aSource("2020-01-02T00:00:00.000Z")];
		for (const source of [old, recent]) await signIn(ada, source);
		assert.equal(await accounts.dropKnownSources("2020-01-02T00:00:00.000Z"), 1);
		assert.deepEqual([await isKnown(old), await isKnown(recent)], [false, true]);
	});
}
