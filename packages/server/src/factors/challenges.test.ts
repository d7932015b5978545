import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestSystem } from "../testing/system.ts";
import { type Challenges, createChallenges } from "./challenges.ts";

const ADA = "the id of an account";

test("a challenge is good once, for its browser, and until it ends", () => {
	const system = createTestSystem();
	const challenges = createChallenges(system);
	const challenge = challenges.make("ada");
	assert.match(challenge, /^[\w-]{72}$/);
	assert.equal(challenges.checkFor("eve").isChallenge(challenge), false);
	assert.equal(createChallenges(system).checkFor("ada").isChallenge(challenge), false, "another server's");
	const [first, second] = [challenges.checkFor("ada"), challenges.checkFor("ada")];
	assert.equal(first.useUp(ADA), false, "nothing was accepted yet");
	for (const asked of [first, second]) assert.equal(asked.isChallenge(challenge), true);
	assert.deepEqual([first.useUp(ADA), second.useUp(ADA), first.useUp(ADA)], [true, false, false]);

	const next = challenges.make("ada");
	system.advance(5 * 60_000 - 1);
	assert.equal(challenges.checkFor("ada").isChallenge(next), true);
	system.advance(1);
	assert.equal(challenges.checkFor("ada").isChallenge(next), false);
});

test("an altered or missing challenge is refused", () => {
	const challenges = createChallenges(createTestSystem());
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

/** Makes and uses up a challenge for an account. */
function useOne(challenges: Challenges, user_id: string): boolean {
	const asked = challenges.checkFor("a browser");
	assert.ok(asked.isChallenge(challenges.make("a browser")));
	return asked.useUp(user_id);
}

test("an account may use 20 challenges in 5 minutes from any browser, and other accounts are not affected", () => {
	const system = createTestSystem();
	const challenges = createChallenges(system);
	for (let count = 0; count < 20; count++) assert.equal(useOne(challenges, ADA), true);
	assert.throws(() => useOne(challenges, ADA), { code: "rate_limited", message: /passkey_uses_per_account/ });
	assert.equal(useOne(challenges, "another"), true);
	const [limit = assert.fail()] = challenges.limits;
	assert.deepEqual([limit.used(), limit.refused?.()], [20, 1]);
	system.advance(5 * 60_000);
	assert.equal(limit.used(), 0);
	assert.equal(useOne(challenges, ADA), true);
});

test("while half of the memory is taken, each account may use two; a full memory takes none until some expire", () => {
	const system = createTestSystem();
	const challenges = createChallenges(system);
	for (let account = 0; account < 250; account++)
		for (let count = 0; count < 20; count++) assert.equal(useOne(challenges, `filler ${account}`), true);
	assert.throws(() => useOne(challenges, "filler 0"), { code: "rate_limited" });
	for (let account = 0; account < 2500; account++) {
		for (let count = 0; count < 2; count++) assert.equal(useOne(challenges, `late ${account}`), true);
		if (account === 0) assert.throws(() => useOne(challenges, "late 0"), { code: "rate_limited" });
	}
	const [, limit = assert.fail()] = challenges.limits;
	assert.deepEqual([limit.name, limit.used(), limit.max, limit.refused?.()], ["passkey_uses", 10_000, 10_000, 0]);
	assert.throws(() => useOne(challenges, ADA), { code: "overloaded", message: /\(passkey_uses\)/ });
	assert.equal(limit.refused?.(), 1);
	system.advance(5 * 60_000);
	assert.equal(useOne(challenges, ADA), true);
});
