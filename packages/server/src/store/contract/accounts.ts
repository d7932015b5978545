import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents, eventsAfter, isChainIntact } from "../../testing/events.ts";
import { anAccount, anEvent, aSession, MADE_AT } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about accounts and sessions. */
export async function accountContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts } = store;

	async function add(given: Parameters<typeof anAccount>[0] = {}) {
		const account = anAccount(given);
		await accounts.register(account, anEvent());
		return account;
	}

	/** Opens a session of an account. */
	async function open(user: { id: string; password: string | null }, given: Parameters<typeof aSession>[1] = {}) {
		const session = aSession(user.id, given);
		assert.ok(await accounts.openSession({ session, password: user.password }, anEvent()));
		return session.jti;
	}

	const isOpen = async (jti: string, user_id: string) =>
		(await accounts.sessionOwner(jti, user_id, MADE_AT)) !== undefined;

	test("a new store has no account, and the first of two that register at once is the instance admin", async () => {
		assert.equal(await accounts.hadAny(), false);
		const start = await countEvents(store);
		const both = [anAccount(), anAccount({ instance_admin: false })];
		const outcomes = await Promise.all(both.map((account) => accounts.register(account, anEvent())));
		assert.deepEqual(outcomes, [
			{ outcome: "done", first: true, left_out: [] },
			{ outcome: "done", first: false, left_out: [] },
		]);
		assert.deepEqual(
			(await accounts.list("", 10)).map((account) => account.instance_admin),
			[true, false],
		);
		assert.equal(await accounts.hadAny(), true);
		const facts = (await eventsAfter(store, start)).map(([, data]) => data.instance_admin);
		assert.deepEqual(facts, [true, false]);
	});

	test("an account is read as it was written, by id and by e-mail", async () => {
		const account = await add({ email: "eva@example.com", name: "Éva", password: null });
		assert.deepEqual(await accounts.byId(account.id), account);
		assert.deepEqual(await accounts.byEmail("eva@example.com"), account);
		for (const email of ["EVA@example.com", "eva@example.co", ""])
			assert.equal(await accounts.byEmail(email), undefined);
		assert.equal(await accounts.byId("nobody"), undefined);
	});

	test("an e-mail is registered once, also when ten try at once, and the others change nothing", async () => {
		const before = { seq: await countEvents(store), count: await accounts.count() };
		const ten = Array.from({ length: 10 }, () => anAccount({ email: "same@example.com" }));
		const outcomes = await Promise.all(ten.map((account) => accounts.register(account, anEvent())));
		assert.deepEqual(
			outcomes.map(({ outcome }) => outcome),
			["done", ...Array.from({ length: 9 }, () => "email_taken")],
		);
		assert.equal((await accounts.byEmail("same@example.com"))?.id, ten[0]?.id);
		assert.equal(await accounts.count(), before.count + 1);
		assert.equal(await countEvents(store), before.seq + 1);
	});

	test("a list is in the order of ids, begins after the one that is named, and ends at its limit", async () => {
		for (let count = 0; count < 3; count++) await add();
		const all = await accounts.list("", 1000);
		const ids = all.map((account) => account.id);
		assert.deepEqual(
			ids,
			ids.toSorted((a, b) => (a < b ? -1 : 1)),
		);
		assert.equal(ids.length, await accounts.count());
		assert.deepEqual(
			(await accounts.list(ids[1] ?? "", 2)).map((account) => account.id),
			ids.slice(2, 4),
		);
		assert.deepEqual(await accounts.list(ids.at(-1) ?? "", 10), []);
	});

	test("accounts are found by the beginning of their e-mail, the letter and nothing else", async () => {
		const mails = ["zoe@example.com", "zoe@example.net", "zoe_x@example.com", "zoexander@example.com"];
		for (const email of mails) await store.accounts.register(anAccount({ email }), anEvent());
		const found = async (start: string, limit = 10) =>
			(await accounts.startingWith(start, limit)).map(({ email }) => email);
		assert.deepEqual(await found("zoe@"), mails.slice(0, 2));
		assert.deepEqual(await found("zoe_"), [mails[2]]);
		assert.deepEqual(await found("zoe", 3), mails.slice(0, 3));
		assert.deepEqual(await found("zoe%"), []);
	});

	test("a session is its account's, until it is left", async () => {
		const account = await add();
		const { id: user_id, email, name } = account;
		const start = await countEvents(store);
		const jti = await open(account);
		assert.deepEqual(
			{ ...(await accounts.sessionOwner(jti, user_id, MADE_AT)) },
			{ user_id, email, name, instance_admin: false },
		);
		assert.equal(await isOpen(jti, "somebody"), false);
		assert.equal(await isOpen("other", user_id), false);
		assert.equal(await accounts.closeSession(jti, anEvent()), true);
		assert.equal(await isOpen(jti, user_id), false);
		assert.equal(await accounts.closeSession(jti, anEvent()), false);
		assert.equal(await countEvents(store), start + 2, "leaving again is no event");
	});

	test("a session is no longer one in the millisecond in which it ends", async () => {
		const account = await add();
		const ask = async (now: string) => {
			const jti = await open(account, { expires_at: "2030-01-02T00:00:00.000Z" });
			return (await accounts.sessionOwner(jti, account.id, now)) !== undefined;
		};
		assert.equal(await ask("2030-01-01T23:59:59.999Z"), true);
		assert.equal(await ask("2030-01-02T00:00:00.000Z"), false);
	});

	test("no session is opened for an account that changed while its password was checked", async () => {
		const account = await add({ password: "old" });
		const { id } = account;
		const start = await countEvents(store);
		const attempt = (user_id: string, password: string | null) =>
			accounts.openSession({ session: aSession(user_id), password }, anEvent());
		assert.equal(await attempt("nobody", "old"), false);
		assert.equal(await attempt(id, "other"), false);
		assert.equal(await attempt(id, null), false);
		assert.equal(await countEvents(store), start);
		assert.equal(await attempt(id, "old"), true);
		await accounts.setDisabled({ user_id: id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await attempt(id, "old"), false);
		const passwordless = await add({ password: null });
		assert.equal(await attempt(passwordless.id, null), true);
		assert.equal(await attempt(passwordless.id, ""), false);
	});

	test("a new password ends every other session of the account, and the event says how many", async () => {
		const [account, other] = [await add(), await add()];
		const kept = await open(account);
		const ended = [await open(account), await open(account)];
		const foreign = await open(other);
		const start = await countEvents(store);
		const change = { user_id: account.id, from: "a hash", password: "new", keep: kept };
		assert.equal(await accounts.setPassword(change, anEvent()), "done");
		assert.equal((await accounts.byId(account.id))?.password, "new");
		assert.deepEqual(await Promise.all([kept, ...ended].map((jti) => isOpen(jti, account.id))), [true, false, false]);
		assert.ok(await isOpen(foreign, other.id));
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { sessions_ended: 2 }]]);
	});

	test("a password is changed only from the one that was compared, and not while the account is disabled", async () => {
		const account = await add();
		const jti = await open(account);
		const change = (from: string, password: string) =>
			accounts.setPassword({ user_id: account.id, from, password, keep: "" }, anEvent());
		const start = await countEvents(store);
		assert.deepEqual(
			await Promise.all([change("a hash", "first"), change("a hash", "second"), change("another", "third")]),
			["done", "changed", "changed"],
		);
		assert.equal((await accounts.byId(account.id))?.password, "first");
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { sessions_ended: 1 }]]);
		assert.equal(await isOpen(jti, account.id), false);
		await accounts.setDisabled({ user_id: account.id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await change("first", "fourth"), "changed");
		const unset = await add({ password: null });
		assert.equal(
			await accounts.setPassword({ user_id: unset.id, from: "", password: "x", keep: "" }, anEvent()),
			"changed",
		);
	});

	test("disabling ends the sessions permanently, and enabling brings none back", async () => {
		const [account, other] = [await add(), await add()];
		const [jti, foreign] = [await open(account), await open(other)];
		const set = (user_id: string, disabled_at: string | null) =>
			accounts.setDisabled({ user_id, disabled_at }, anEvent());
		assert.equal(await set(account.id, MADE_AT), "done");
		assert.equal((await accounts.byId(account.id))?.disabled_at, MADE_AT);
		assert.equal(await isOpen(jti, account.id), false);
		assert.ok(await isOpen(foreign, other.id));
		assert.equal(await set(account.id, null), "done");
		assert.equal((await accounts.byId(account.id))?.disabled_at, null);
		assert.equal(await isOpen(jti, account.id), false);
		const opened = await open(account);
		assert.equal(await set(account.id, null), "done");
		assert.ok(await isOpen(opened, account.id), "enabling what is enabled ends nothing");
		const start = await countEvents(store);
		assert.equal(await set("nobody", MADE_AT), "no_user");
		assert.equal(await countEvents(store), start);
	});

	test("sessions that ended are forgotten, and no others", async () => {
		const account = await add();
		await accounts.dropSessions("9999");
		const ended = await open(account, { expires_at: "2030-01-01T11:59:59.999Z" });
		const ending = await open(account, { expires_at: "2030-01-01T12:00:00.000Z" });
		const start = await countEvents(store);
		assert.equal(await accounts.dropSessions("2030-01-01T12:00:00.000Z"), 1);
		assert.equal(await accounts.dropSessions("2030-01-01T12:00:00.000Z"), 0);
		assert.equal(await accounts.closeSession(ended, anEvent()), false);
		assert.equal(await accounts.closeSession(ending, anEvent()), true);
		assert.equal(await countEvents(store), start + 2, "forgetting is an event");
	});

	test("the log of all this is intact", async () => {
		assert.ok(await isChainIntact(store));
	});
}
