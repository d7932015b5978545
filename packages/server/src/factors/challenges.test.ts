import assert from "node:assert/strict";
import { test } from "node:test";
import { challengesInMemory } from "../store/memory/challenges.ts";
import { createSessionKeys } from "../testing/session-keys.ts";
import { createTestSystem } from "../testing/system.ts";
import { type Challenges, createChallenges } from "./challenges.ts";

const ADA = "the id of an account";

/** Challenges, and those of another server of the same database. */
function setUp() {
	const [system, keys] = [createTestSystem(), createSessionKeys()];
	const needs = { store: { factors: challengesInMemory() }, system, ...keys };
	return { system, needs, keys, challenges: createChallenges(needs), others: createChallenges(needs) };
}

test("a challenge is good once, for its browser, and until it ends", async () => {
	const { system, needs, challenges } = setUp();
	const challenge = challenges.make("ada");
	assert.match(challenge, /^[\w-]{72}$/);
	assert.equal(challenges.checkFor("eve").isChallenge(challenge), false);
	assert.equal(setUp().challenges.checkFor("ada").isChallenge(challenge), false, "another database's");
	const later = createChallenges({ ...needs, era: "later" });
	assert.equal(later.checkFor("ada").isChallenge(challenge), false, "another era's");
	const [first, second] = [challenges.checkFor("ada"), challenges.checkFor("ada")];
	assert.equal(await first.useUp(ADA), false, "nothing was accepted yet");
	for (const asked of [first, second]) assert.equal(asked.isChallenge(challenge), true);
	assert.deepEqual(await Promise.all([first, second, first].map((one) => one.useUp(ADA))), [true, false, false]);

	const next = challenges.make("ada");
	system.advance(5 * 60_000 - 1);
	assert.equal(challenges.checkFor("ada").isChallenge(next), true);
	system.advance(1);
	assert.equal(challenges.checkFor("ada").isChallenge(next), false);
});

test("an altered or missing challenge is refused", () => {
	const { challenges } = setUp();
	const bytes = Buffer.from(challenges.make("ada"), "base64url");
	for (let at = 0; at < bytes.length; at++) {
		const altered = Buffer.from(bytes);
		altered[at] = (altered[at] ?? 0) ^ 1;
		assert.equal(challenges.checkFor("ada").isChallenge(altered.toString("base64url")), false, `byte ${at}`);
	}
	const spelt = challenges.make("ada");
	for (const text of ["", "a", "A".repeat(72), "A".repeat(1000), `${spelt}=`, ` ${spelt}`])
		assert.equal(challenges.checkFor("ada").isChallenge(text), false, text);
});

test("a challenge is good on another server of the database, and used up there", async () => {
	const { system, keys, challenges, others } = setUp();
	const challenge = challenges.make("ada");
	keys.rotate(system.now());
	const [here, there] = [challenges.checkFor("ada"), others.checkFor("ada")];
	for (const asked of [here, there]) assert.ok(asked.isChallenge(challenge));
	assert.deepEqual([await there.useUp(ADA), await here.useUp(ADA)], [true, false]);
});

test("who has a key that was replaced makes no challenge with it", () => {
	const { system, needs, keys, challenges } = setUp();
	const { active } = keys.keys();
	keys.rotate(system.now());
	system.advance(10_000);
	const stolen = { active, byId: new Map([[active.id, active]]) };
	const forged = createChallenges({ ...needs, keys: () => stolen }).make("ada");
	assert.equal(challenges.checkFor("ada").isChallenge(forged), false);
});

/** Makes and uses up a challenge for an account. */
async function useOne(challenges: Challenges, user_id: string): Promise<boolean> {
	const asked = challenges.checkFor("a browser");
	assert.ok(asked.isChallenge(challenges.make("a browser")));
	return asked.useUp(user_id);
}

test("an account may use 20 challenges in 5 minutes from any browser, and other accounts are not affected", async () => {
	const { system, challenges } = setUp();
	for (let count = 0; count < 20; count++) assert.equal(await useOne(challenges, ADA), true);
	await assert.rejects(useOne(challenges, ADA), { code: "rate_limited", message: /passkey_uses_per_account/ });
	assert.equal(await useOne(challenges, "another"), true);
	const [limit = assert.fail()] = challenges.limits;
	assert.deepEqual([await limit.used(), limit.refused?.()], [20, 1]);
	system.advance(5 * 60_000);
	assert.equal(await limit.used(), 0);
	assert.equal(await useOne(challenges, ADA), true);
});

test("while half of the memory is taken, each account may use two; a full memory takes none until some expire", async () => {
	const { system, challenges } = setUp();
	for (let account = 0; account < 250; account++)
		for (let count = 0; count < 20; count++) assert.equal(await useOne(challenges, `filler ${account}`), true);
	await assert.rejects(useOne(challenges, "filler 0"), { code: "rate_limited" });
	for (let account = 0; account < 2500; account++) {
		for (let count = 0; count < 2; count++) assert.equal(await useOne(challenges, `late ${account}`), true);
		if (account === 0) await assert.rejects(useOne(challenges, "late 0"), { code: "rate_limited" });
	}
	const [, limit = assert.fail()] = challenges.limits;
	assert.deepEqual([limit.name, await limit.used(), limit.max, limit.refused?.()], ["passkey_uses", 10_000, 10_000, 0]);
	await assert.rejects(useOne(challenges, ADA), { code: "overloaded", message: /\(passkey_uses\)/ });
	assert.equal(limit.refused?.(), 1);
	system.advance(5 * 60_000);
	assert.equal(await useOne(challenges, ADA), true);
});
