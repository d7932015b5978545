import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import type { Account, FactorProof } from "../../accounts/model.ts";
import { isEnded } from "../../factors/decide.ts";
import { MAX_CHALLENGES_OF_ACCOUNT } from "../../factors/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aFactor, anEvent, aSession, newId, recoveryCodes } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

const PASSWORD = "a hash";
const SEALED = Buffer.from("id and public key");
const DIGESTS = [1, 2].map((byte) => Buffer.alloc(32, byte));

/** Tests the port's promises about passkeys among the second factors. */
export async function passkeyContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { factors } = store;
	await addAccount(store);

	const ownerOf = ({ id: user_id }: Account, proof?: FactorProof) => ({ user_id, password: PASSWORD, proof });
	const signIn = ({ id, password }: Account, proof: FactorProof) =>
		factors.signIn({ session: aSession(id), password: password ?? "", proof }, anEvent({ type: "auth.login" }));
	const remove = (account: Account, id: string, proof?: FactorProof) =>
		factors.remove({ id, owner: ownerOf(account, proof) }, anEvent({ type: "auth.factor.removed" }));
	const factorOf = async ({ id }: Account, factor_id: string) =>
		(await factors.ofUser(id)).find((one) => one.id === factor_id) ?? assert.fail("it is gone");

	/** Adds a confirmed factor to an account. @param count its first step @param proof of a factor that it has */
	async function addTo(account: Account, type: "totp" | "passkey", count: number, proof?: FactorProof) {
		const named = type === "passkey" ? { name: "laptop", rp_id: "svc.example.com" } : {};
		const factor = aFactor(account.id, { type, ...named });
		assert.equal(await factors.add({ factor, owner: ownerOf(account, proof) }, anEvent()), "done");
		const codes = recoveryCodes(account.id);
		const input = { id: factor.id, user_id: account.id, step: count, sealed: SEALED, since: "", keep: "", codes };
		assert.notEqual(await factors.confirm(input, anEvent()), "unknown");
		return factor.id;
	}

	test("a confirmed passkey keeps its name, host and count, and the box of its key in place of its secret", async () => {
		const account = await addAccount(store);
		const id = await addTo(account, "passkey", 7);
		const { name, rp_id, sealed, last_step, confirmed_at } = await factorOf(account, id);
		assert.deepEqual([name, rp_id, sealed, last_step], ["laptop", "svc.example.com", SEALED, 7]);
		assert.notEqual(confirmed_at, null);
		await addTo(await addAccount(store), "totp", 100);
		assert.deepEqual(await factors.passkeyHosts(), ["svc.example.com"]);
	});

	test("a count that does not grow shows a copy: the passkey ends, which is an event, and no count helps it", async () => {
		const account = await addAccount(store);
		const factor_id = await addTo(account, "passkey", 7);
		assert.equal(await signIn(account, { factor_id, step: 8 }), "done");
		const start = await countEvents(store);
		assert.equal(await signIn(account, { factor_id, step: 8 }), "cloned");
		assert.equal(isEnded(await factorOf(account, factor_id)), true);
		for (const step of [8, 9, 0, 2 ** 32 - 1]) assert.equal(await signIn(account, { factor_id, step }), "used");
		const more = await eventsAfter(store, start);
		assert.deepEqual(
			more.map(([type]) => type),
			["auth.factor.disabled"],
		);
		const password = { session: aSession(account.id), password: PASSWORD };
		assert.equal(await store.accounts.openSession(password, anEvent()), false, "it is still asked for");
	});

	test("a passkey that does not count says 0 each time; once it has counted, 0 shows a copy", async () => {
		const account = await addAccount(store);
		const factor_id = await addTo(account, "passkey", 0);
		for (const step of [0, 0, 1]) assert.equal(await signIn(account, { factor_id, step }), "done");
		assert.equal(await signIn(account, { factor_id, step: 0 }), "cloned");
	});

	test("a used app code is no sign of a copy, and another account's passkey does not work", async () => {
		const [account, other] = [await addAccount(store), await addAccount(store)];
		const app = await addTo(account, "totp", 100);
		assert.equal(await signIn(account, { factor_id: app, step: 100 }), "used");
		const foreign = await addTo(other, "passkey", 7);
		assert.equal(await signIn(account, { factor_id: foreign, step: 3 }), "used");
		assert.equal(isEnded(await factorOf(other, foreign)), false);
	});

	test("nobody is left with passkeys alone and no recovery code", async () => {
		const account = await addAccount(store);
		const app = await addTo(account, "totp", 100);
		const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = DIGESTS;
		const passkey = await addTo(account, "passkey", 0, { digest: first });
		assert.equal(await remove(account, app, { digest: second }), "no_codes", "it would be the last code");
		assert.equal(await remove(account, passkey, { factor_id: app, step: 101 }), "done");
		const again = await addTo(account, "passkey", 0, { factor_id: app, step: 102 });
		assert.equal(await remove(account, app, { factor_id: again, step: 0 }), "done", "a code is left");
		assert.equal(await remove(account, again, { digest: second }), "done", "nothing is left to lose");
	});

	/** A challenge that an account has used. */
	const aChallenge = (user_id: string, until_ms: number) => ({
		digest: hash("sha256", newId(), "buffer"),
		...{ user_id, until_ms },
	});

	test("a challenge is used once, by one of ten that use it at the same time", async () => {
		const challenge = aChallenge("ada", 2000);
		const outcomes = await Promise.all(Array.from({ length: 10 }, () => factors.useChallenge(challenge, 1000)));
		assert.equal(outcomes.filter((one) => one === "done").length, 1);
		assert.equal(await factors.useChallenge({ ...challenge, user_id: "bob" }, 1000), "used");
	});

	test("an account's used challenges count until they end, and bound its further ones alone", async () => {
		for (let count = 0; count < MAX_CHALLENGES_OF_ACCOUNT; count++)
			assert.equal(await factors.useChallenge(aChallenge("eve", 6000), 5000), "done");
		assert.equal(await factors.useChallenge(aChallenge("eve", 6000), 5000), "account_full");
		assert.equal(await factors.useChallenge(aChallenge("mallory", 6000), 5000), "done");
		assert.deepEqual(await factors.countChallenges(5999), {
			...{ all: MAX_CHALLENGES_OF_ACCOUNT + 1, of_account: MAX_CHALLENGES_OF_ACCOUNT },
		});
		assert.deepEqual(await factors.countChallenges(6000), { all: 0, of_account: 0 });
		assert.equal(await factors.useChallenge(aChallenge("eve", 7000), 6000), "done");
	});
}
