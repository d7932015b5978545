import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Account, FactorProof } from "../../accounts/model.ts";
import { MAX_FACTORS } from "../../factors/model.ts";
import { MAX_ROWS } from "../../realms/row-limits.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aFactor, anEvent, aResetCode, aSession, MADE_AT, newId, recoveryCodes } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

const newIdentity = () => ({ provider: "corp", issuer: "https://id.example.com", subject: newId() });

/** An instant before all that tests make. */
const BEFORE = "2029-12-31T00:00:00.000Z";
const PASSWORD = "a hash";

/** Tests the port's promises about second factors. */
export async function factorContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts, factors } = store;
	await addAccount(store);

	const ownerOf = ({ id: user_id }: Account, proof?: FactorProof) => ({ user_id, password: PASSWORD, proof });
	const add = (account: Account, proof?: FactorProof, factor = aFactor(account.id)) =>
		factors.add({ factor, owner: ownerOf(account, proof) }, anEvent({ type: "auth.factor.created" }));
	const confirm = (account: Account, id: string, step: number, keep = "") => {
		const codes = recoveryCodes(account.id);
		const input = { id, user_id: account.id, step, since: BEFORE, keep, codes };
		return factors.confirm(input, anEvent({ type: "auth.factor.confirmed" }));
	};
	const signIn = ({ id, password }: Account, proof: FactorProof) =>
		factors.signIn({ session: aSession(id), password: password ?? "", proof }, anEvent({ type: "auth.login" }));
	const remove = (account: Account, id: string, proof?: FactorProof) =>
		factors.remove({ id, owner: ownerOf(account, proof) }, anEvent({ type: "auth.factor.removed" }));

	/** Adds an account with a factor whose step 100 is used. */
	async function withFactor() {
		const account = await addAccount(store);
		const factor = aFactor(account.id);
		assert.equal(await add(account, undefined, factor), "done");
		assert.equal(await confirm(account, factor.id, 100), "done");
		return { account, factor_id: factor.id, digest: recoveryCodes(account.id).digests.subarray(0, 32) };
	}

	test("confirmed factors count toward their account's limit, those that wait do not", async () => {
		const [{ account }, waiting] = [await withFactor(), await addAccount(store)];
		await add(waiting);
		const max = { ...MAX_ROWS, realm_bytes: 1, realms_per_account: 1, factors_per_account: 7 };
		const { factors_per_account: found } = await store.realms.fullest({ max, now: MADE_AT });
		const usedBy = ({ email }: Account) => found.find(({ name }) => name === email);
		assert.deepEqual([usedBy(account), usedBy(waiting)], [{ name: account.email, used: 1, max: 7 }, undefined]);
	});

	test("a factor is asked of nobody before it is confirmed, which ends the other sessions and gives recovery codes", async () => {
		const account = await addAccount(store);
		const [kept, ended] = [aSession(account.id), aSession(account.id)];
		for (const session of [kept, ended])
			assert.ok(await accounts.openSession({ session, password: PASSWORD }, anEvent()));
		const factor = aFactor(account.id);
		assert.equal(await add(account, undefined, factor), "done");
		assert.deepEqual(await factors.ofUser(account.id), [factor]);
		assert.ok(await accounts.openSession({ session: aSession(account.id), password: PASSWORD }, anEvent()));
		const start = await countEvents(store);
		assert.equal(await confirm(account, factor.id, 100, kept.jti), "done");
		assert.deepEqual(await eventsAfter(store, start), [["auth.factor.confirmed", { sessions_ended: 2 }]]);
		assert.equal(await accounts.sessionOwner(ended.jti, account.id, MADE_AT), undefined);
		assert.notEqual(await accounts.sessionOwner(kept.jti, account.id, MADE_AT), undefined);
		assert.deepEqual(await factors.recoveryCodes(account.id), recoveryCodes(account.id));
		const [{ last_step, confirmed_at } = factor] = await factors.ofUser(account.id);
		assert.deepEqual([last_step, confirmed_at], [100, MADE_AT]);
		const more = { session: aSession(account.id), password: PASSWORD };
		assert.equal(await accounts.openSession(more, anEvent()), false, "the password alone opens none");
	});

	test("it is confirmed once, in time, by its owner, and another that waited is gone", async () => {
		const [account, other] = [await addAccount(store), await addAccount(store)];
		const [first, second] = [aFactor(account.id), aFactor(account.id)];
		await add(account, undefined, first);
		await add(account, undefined, second);
		assert.equal(await confirm(account, first.id, 1), "unknown");
		assert.equal(await confirm(other, second.id, 1), "unknown");
		const late = { id: second.id, user_id: account.id, step: 1, since: MADE_AT, keep: "" };
		assert.equal(await factors.confirm({ ...late, codes: recoveryCodes(account.id) }, anEvent()), "unknown");
		assert.equal(await confirm(account, second.id, 1), "done");
		assert.equal(await confirm(account, second.id, 2), "unknown");
	});

	test("a step is accepted once, and none before it; of two simultaneous uses one succeeds", async () => {
		const { account, factor_id } = await withFactor();
		for (const step of [99, 100]) assert.equal(await signIn(account, { factor_id, step }), "used");
		const both = await Promise.all([
			signIn(account, { factor_id, step: 101 }),
			signIn(account, { factor_id, step: 101 }),
		]);
		assert.deepEqual(both.toSorted(), ["done", "used"]);
		assert.equal(await signIn(account, { factor_id, step: 102 }), "done");
		const { factor_id: foreign } = await withFactor();
		assert.equal(await signIn(account, { factor_id: foreign, step: 200 }), "used");
	});

	test("a recovery code is good once, for its account, and its use is an event of its own", async () => {
		const { account, digest } = await withFactor();
		const { account: other } = await withFactor();
		assert.equal(await signIn(other, { digest: Buffer.alloc(32, 99) }), "used");
		const start = await countEvents(store);
		const both = await Promise.all([signIn(account, { digest }), signIn(account, { digest })]);
		assert.deepEqual(both.toSorted(), ["done", "used"]);
		assert.deepEqual(await eventsAfter(store, start), [
			["auth.login", { recovery_codes_left: 1 }],
			["auth.recovery_code.used", { recovery_codes_left: 1 }],
		]);
		assert.deepEqual((await factors.recoveryCodes(account.id))?.digests, Buffer.alloc(32, 2));
		assert.equal((await factors.recoveryCodes(other.id))?.digests.length, 64);
	});

	test("nobody signs in to a disabled account, or with a password that was changed meanwhile", async () => {
		const { account, factor_id } = await withFactor();
		assert.equal(await signIn({ ...account, password: "former" }, { factor_id, step: 101 }), "changed");
		await accounts.setDisabled({ user_id: account.id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await signIn(account, { factor_id, step: 101 }), "changed");
		await accounts.setDisabled({ user_id: account.id, disabled_at: null }, anEvent());
		assert.equal(await signIn(account, { factor_id, step: 101 }), "done", "a refusal uses no step up");
	});

	test("where there is a factor, changes need a proof that was not used, and the present password", async () => {
		const { account, factor_id, digest } = await withFactor();
		const renewed = { ...recoveryCodes(account.id), digests: Buffer.alloc(32, 7) };
		const renew = (proof?: FactorProof) =>
			factors.renewCodes({ owner: ownerOf(account, proof), codes: renewed }, anEvent());
		for (const change of [
			(proof?: FactorProof) => add(account, proof),
			(proof?: FactorProof) => remove(account, factor_id, proof),
			renew,
		]) {
			assert.equal(await change(), "changed");
			assert.equal(await change({ factor_id, step: 100 }), "used");
		}
		const stolen = { ...ownerOf(account, { digest }), password: "former" };
		assert.equal(await factors.remove({ id: factor_id, owner: stolen }, anEvent()), "changed");
		assert.equal(await renew({ factor_id, step: 101 }), "done");
		assert.deepEqual(await factors.recoveryCodes(account.id), renewed);
		assert.equal(await signIn(account, { digest }), "used", "the former codes ended");
	});

	test("the use of a recovery code for a change is an event, too, and a refused change has none", async () => {
		const { account, factor_id, digest } = await withFactor();
		const start = await countEvents(store);
		assert.equal(await add(account, { digest: Buffer.alloc(32, 99) }), "used");
		assert.equal(await remove(account, factor_id, { digest }), "done");
		assert.deepEqual(await eventsAfter(store, start), [
			["auth.recovery_code.used", { recovery_codes_left: 1 }],
			["auth.factor.removed", {}],
		]);
	});

	test("where there is a factor, an identity is linked with its code alone, which is used up with the link and not before", async () => {
		const { account, factor_id, digest } = await withFactor();
		const link = (factor?: FactorProof, password = account.password, identity = newIdentity()) => {
			const made = { id: newId(), identity, user_id: account.id, at: MADE_AT };
			return store.sso.link(
				{ ...made, proof: { password, jti: "", factor } },
				anEvent({ type: "sso.identity.linked" }),
			);
		};
		const start = await countEvents(store);
		assert.equal(await link(), "unproven");
		assert.equal(await link({ factor_id, step: 100 }), "used");
		assert.equal(await link({ factor_id, step: 101 }, "another hash"), "unproven");
		const identity = newIdentity();
		assert.equal(await link({ factor_id, step: 101 }, undefined, identity), "done");
		assert.equal(await link({ factor_id, step: 101 }), "used");
		assert.equal(await link({ digest }), "done");
		assert.deepEqual(await eventsAfter(store, start), [
			["sso.identity.linked", {}],
			["auth.recovery_code.used", { recovery_codes_left: 1 }],
			["sso.identity.linked", {}],
		]);
		assert.equal(await store.sso.owner(identity), account.id);
	});

	test("where there is a factor, the password is changed, and an identity unlinked, with its code alone, which is used up", async () => {
		const { account, factor_id, digest } = await withFactor();
		const { id: user_id } = account;
		const event = () => anEvent({ type: "auth.password.changed" });
		const change = (factor?: FactorProof, from = PASSWORD) =>
			accounts.setPassword({ user_id, from, password: PASSWORD, keep: "", factor }, event());
		const id = newId();
		const proven = (factor?: FactorProof) => ({ user_id, proof: { password: PASSWORD, jti: "", factor } });
		const link = { id, identity: newIdentity(), at: MADE_AT, ...proven({ factor_id, step: 101 }) };
		assert.equal(await store.sso.link(link, anEvent()), "done");
		const start = await countEvents(store);
		assert.deepEqual([await change(), await change({ factor_id, step: 101 })], ["changed", "used"]);
		assert.equal(await change({ factor_id, step: 102 }, "another hash"), "changed");
		assert.deepEqual([await change({ factor_id, step: 102 }), await change({ digest })], ["done", "done"]);
		const unlink = (factor?: FactorProof) => store.sso.unlink({ id, ...proven(factor) }, anEvent());
		assert.deepEqual(
			[await unlink(), await unlink({ digest }), await unlink({ factor_id, step: 102 })],
			["unproven", "used", "used"],
		);
		assert.equal((await store.sso.identitiesOf(user_id)).length, 1);
		assert.equal(await unlink({ factor_id, step: 103 }), "done");
		assert.deepEqual(
			(await eventsAfter(store, start)).map(([type]) => type),
			["auth.password.changed", "auth.recovery_code.used", "auth.password.changed", "encrypt"],
		);
	});

	test("an account may have some factors, and with the last one its recovery codes go", async () => {
		const { account, factor_id } = await withFactor();
		let step = 100;
		const proof = () => ({ factor_id, step: ++step });
		for (let count = 1; count < MAX_FACTORS; count++) {
			const factor = aFactor(account.id);
			assert.equal(await add(account, proof(), factor), "done");
			assert.equal(await confirm(account, factor.id, 1), "kept", "with the codes that it has");
		}
		assert.equal(await add(account, proof()), "limit_reached");
		const others = (await factors.ofUser(account.id)).filter(({ id }) => id !== factor_id);
		for (const { id } of others) assert.equal(await remove(account, id, proof()), "done");
		assert.notEqual(await factors.recoveryCodes(account.id), undefined);
		assert.equal(await remove(account, factor_id, proof()), "done");
		assert.equal(await remove(account, factor_id), "unknown");
		assert.deepEqual([await factors.recoveryCodes(account.id), await factors.ofUser(account.id)], [undefined, []]);
		assert.ok(await accounts.openSession({ session: aSession(account.id), password: PASSWORD }, anEvent()));
	});

	test("a session by password lacks a factor until its account has confirmed one; one at a provider never does", async () => {
		const account = await addAccount(store);
		const [own, provided] = [aSession(account.id), aSession(account.id, { provider: "corp" })];
		for (const session of [own, provided])
			assert.ok(await accounts.openSession({ session, password: PASSWORD }, anEvent()));
		const factor = aFactor(account.id);
		await add(account, undefined, factor);
		const lacking = async () => [
			await factors.isLacking(own.jti, account.id),
			await factors.isLacking(provided.jti, account.id),
		];
		assert.deepEqual(await lacking(), [true, false]);
		await confirm(account, factor.id, 1, own.jti);
		assert.deepEqual(await lacking(), [false, false]);
	});

	test("a recovery leaves second factors alone, or ends them with the password and sessions and gives no rights", async () => {
		const { account } = await withFactor();
		const root = await addAccount(store, { instance_admin: true });
		const session = aSession(root.id);
		assert.ok(await accounts.openSession({ session, password: PASSWORD }, anEvent()));
		const rooted = aFactor(root.id);
		await add(root, undefined, rooted);
		await confirm(root, rooted.id, 1, session.jti);
		const recover = ({ id }: Account, drop_factors: boolean) =>
			store.resets.recover({ ...aResetCode(id), drop_factors }, anEvent({ type: "user.recovered" }));
		assert.equal((await recover(root, false)).outcome, "done");
		assert.equal((await factors.ofUser(root.id)).length, 1);
		assert.deepEqual(await recover(account, false), { outcome: "not_admin" });
		await accounts.setDisabled({ user_id: account.id, disabled_at: MADE_AT }, anEvent());
		const start = await countEvents(store);
		for (const [one, sessions_ended] of [
			[root, 1],
			[account, 0],
		] as const) {
			const done = await recover(one, true);
			assert.partialDeepStrictEqual(done, { outcome: "done", made_admin: false, factors_dropped: 1, sessions_ended });
			assert.deepEqual([await factors.ofUser(one.id), await factors.recoveryCodes(one.id)], [[], undefined]);
			assert.equal((await accounts.byId(one.id))?.password, null);
		}
		const [[, data] = []] = await eventsAfter(store, start);
		assert.deepEqual(data, { enabled: false, made_admin: false, factors_dropped: 1, sessions_ended: 1 });
		assert.equal(await accounts.sessionOwner(session.jti, root.id, MADE_AT), undefined);
		const recovered = await accounts.byId(account.id);
		assert.deepEqual([recovered?.disabled_at, recovered?.instance_admin], [null, false]);
	});

	test("those that were never confirmed are forgotten, and no others", async () => {
		const { account } = await withFactor();
		const waiting = await addAccount(store);
		await add(waiting);
		assert.equal(await factors.dropPending(MADE_AT), 0);
		await factors.dropPending("2030-01-01T00:00:00.001Z");
		assert.deepEqual(await factors.ofUser(waiting.id), []);
		assert.equal((await factors.ofUser(account.id)).length, 1);
	});
}
