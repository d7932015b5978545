import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import type { Account } from "../../accounts/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aFactor, anEvent, aResetCode, aSession, MADE_AT, recoveryCodes } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about reset codes. */
export async function resetContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts, resets } = store;
	const root = await addAccount(store);

	async function withCode(given: Partial<Account> = {}) {
		const account = await addAccount(store, given);
		const code = aResetCode(account.id);
		assert.equal(await resets.make(code, anEvent()), "done");
		return { account, code };
	}
	type Code = Pick<ReturnType<typeof aResetCode>, "user_id" | "digest">;
	const use = ({ user_id, digest }: Code, password = "new", at = MADE_AT) =>
		resets.use({ user_id, digest, password, at }, anEvent({ type: "auth.password.reset", actor: user_id }));
	const passwordOf = async ({ id }: { id: string }) => (await accounts.byId(id))?.password;

	test("a code is its account's until it expires, and a new one takes its place", async () => {
		const { account, code } = await withCode();
		assert.deepEqual({ ...(await resets.ofUser(account.id, MADE_AT)) }, code);
		assert.equal(await resets.ofUser(account.id, code.expires_at), undefined);
		assert.equal(await resets.ofUser(root.id, MADE_AT), undefined);
		const second = aResetCode(account.id);
		assert.equal(await resets.make(second, anEvent()), "done");
		assert.deepEqual(await resets.ofUser(account.id, MADE_AT), second);
		assert.equal(await use(code), "changed");
		assert.equal(await use(second), "done");
	});

	test("none is made for nobody, for a disabled account, and for one without a password", async () => {
		const start = await countEvents(store);
		const [disabled, passwordless] = [await addAccount(store), await addAccount(store, { password: null })];
		await accounts.setDisabled({ user_id: disabled.id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await resets.make(aResetCode("nobody"), anEvent()), "no_user");
		assert.equal(await resets.make(aResetCode(disabled.id), anEvent()), "disabled");
		assert.equal(await resets.make(aResetCode(passwordless.id), anEvent()), "no_password");
		assert.equal(await countEvents(store), start + 3);
	});

	test("one of two simultaneous uses succeeds; it ends all sessions, and each realm's log records it", async () => {
		const { account, code } = await withCode();
		const owned = await addRealm(store, account);
		const member = await addRealm(store, root);
		await addBinding(store, member, account, "viewer");
		const gone = await addRealm(store, account);
		await store.realms.remove({ id: gone.id, deleted_at: MADE_AT }, anEvent());
		const session = aSession(account.id);
		await accounts.openSession({ session, password: account.password }, anEvent());
		const start = await countEvents(store);
		assert.deepEqual(await Promise.all([use(code, "one"), use(code, "two")]), ["done", "changed"]);
		assert.equal(await passwordOf(account), "one");
		assert.equal(await accounts.sessionOwner(session.jti, account.id, MADE_AT), undefined);
		const recorded = await eventsAfter(store, start);
		assert.deepEqual(recorded, [["auth.password.reset", { sessions_ended: 1 }]]);
		const inRealms = await eventsAfter(store, start, [owned.id, member.id, gone.id]);
		assert.deepEqual(
			inRealms.map(([type]) => type),
			["auth.password.reset", "auth.password.reset", "auth.password.reset"],
		);
	});

	test("a code that has expired, or whose account was disabled or changed its password meanwhile, sets nothing", async () => {
		const late = await withCode();
		assert.equal(await use(late.code, "new", late.code.expires_at), "changed");
		const out = await withCode();
		await accounts.setDisabled({ user_id: out.account.id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await use(out.code), "changed");
		await accounts.setDisabled({ user_id: out.account.id, disabled_at: null }, anEvent());
		assert.equal(await use(out.code), "changed", "disabling ends the code permanently");
		const changed = await withCode();
		const change = { user_id: changed.account.id, from: "a hash", password: "own", keep: "" };
		assert.equal(await accounts.setPassword(change, anEvent()), "done");
		assert.equal(await use(changed.code), "changed");
		assert.equal(await passwordOf(late.account), "a hash");
	});

	/** Adds an account with a second factor and a session from a known source. */
	async function withFactor() {
		const account = await addAccount(store);
		const [factor, session] = [aFactor(account.id), aSession(account.id)];
		const owner = { user_id: account.id, password: account.password ?? "", proof: undefined };
		assert.equal(await store.factors.add({ factor, owner }, anEvent()), "done");
		assert.ok(await accounts.openSession({ session, password: account.password }, anEvent()));
		const known = { pair: hash("sha256", account.id, "buffer"), seen_at: MADE_AT, renew_before: MADE_AT };
		const codes = recoveryCodes(account.id);
		const confirmed = { id: factor.id, user_id: account.id, step: 1, since: "", keep: session.jti, known, codes };
		assert.equal(await store.factors.confirm(confirmed, anEvent()), "done");
		const left = async () => [
			(await store.factors.ofUser(account.id)).length,
			(await store.factors.recoveryCodes(account.id)) !== undefined,
			(await accounts.session(session.jti)) !== undefined,
			await accounts.isKnownSource([known.pair], ""),
		];
		return { account, left };
	}

	test("ending lost factors also ends recovery codes, sessions and known sources, of that account alone, and is in each realm's log", async () => {
		const [lost, other] = [await withFactor(), await withFactor()];
		const owned = await addRealm(store, lost.account);
		const start = await countEvents(store);
		const drop = (user_id: string) => resets.dropFactors(user_id, anEvent({ type: "user.factors.dropped" }));
		assert.equal(await drop("nobody"), undefined);
		const dropped = { factors_dropped: 1, sessions_ended: 1 };
		assert.deepEqual(await drop(lost.account.id), dropped);
		assert.deepEqual(await eventsAfter(store, start), [["user.factors.dropped", dropped]]);
		assert.equal((await eventsAfter(store, start, [owned.id])).length, 2);
		assert.deepEqual(await lost.left(), [0, false, false, false]);
		assert.deepEqual(await other.left(), [1, true, true, true]);
		assert.equal(await passwordOf(lost.account), lost.account.password);
		assert.deepEqual(await drop(lost.account.id), { factors_dropped: 0, sessions_ended: 0 });
	});

	test("expired codes are forgotten, and no others", async () => {
		const { account, code } = await withCode();
		assert.equal(await resets.drop(MADE_AT), 0);
		await resets.drop("2030-01-02T00:00:00.001Z");
		assert.equal(await resets.ofUser(account.id, MADE_AT), undefined);
		assert.equal(await use(code), "changed");
	});
}

/** Tests the port's promises about the way back to an instance that nobody manages. */
export async function recoveryContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts, resets } = store;
	const [root, ada] = [await addAccount(store), await addAccount(store, { password: null })];
	const recover = (user_id: string) => resets.recover(aResetCode(user_id), anEvent({ type: "user.recovered" }));
	const status = async ({ id }: { id: string }) => {
		const account = await accounts.byId(id);
		return [account?.instance_admin, account?.disabled_at];
	};

	test("while somebody manages the instance, only those who do are recovered", async () => {
		const start = await countEvents(store);
		assert.deepEqual(await recover("nobody"), { outcome: "no_user" });
		assert.deepEqual(await recover(ada.id), { outcome: "not_admin" });
		assert.equal(await countEvents(store), start);
		assert.deepEqual(await recover(root.id), {
			outcome: "done",
			enabled: false,
			made_admin: false,
			had_password: true,
		});
		assert.notEqual(await resets.ofUser(root.id, MADE_AT), undefined);
	});

	test("a disabled instance admin is enabled, and one without a password sets the first", async () => {
		await accounts.setAdmin({ user_id: ada.id, instance_admin: true }, anEvent());
		await accounts.setDisabled({ user_id: ada.id, disabled_at: MADE_AT }, anEvent());
		const start = await countEvents(store);
		const code = aResetCode(ada.id);
		assert.deepEqual(await resets.recover(code, anEvent({ type: "user.recovered" })), {
			outcome: "done",
			enabled: true,
			made_admin: false,
			had_password: false,
		});
		assert.deepEqual(await eventsAfter(store, start), [
			["user.recovered", { enabled: true, made_admin: false }],
			["user.enabled", { user_id: ada.id }],
		]);
		assert.deepEqual(await status(ada), [true, null]);
		const use = { user_id: ada.id, digest: code.digest, password: "first", at: MADE_AT };
		assert.equal(await resets.use(use, anEvent()), "done");
		assert.equal((await accounts.byId(ada.id))?.password, "first");
	});
}
