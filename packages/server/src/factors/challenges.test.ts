import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestSystem } from "../testing/system.ts";
import { createChallenges } from "./challenges.ts";

test("a challenge is good once, for its browser, and until it ends", () => {
	const system = createTestSystem();
	const challenges = createChallenges(system);
	const challenge = challenges.make("ada");
	assert.match(challenge, /^[\w-]{72}$/);
	assert.equal(challenges.checkFor("eve").isChallenge(challenge), false);
	assert.equal(createChallenges(system).checkFor("ada").isChallenge(challenge), false, "another server's");
	const [first, second] = [challenges.checkFor("ada"), challenges.checkFor("ada")];
	assert.equal(first.useUp(), false, "nothing was accepted yet");
	for (const asked of [first, second]) assert.equal(asked.isChallenge(challenge), true);
	assert.deepEqual([first.useUp(), second.useUp(), first.useUp()], [true, false, false]);

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

test("used challenges are remembered until they end; when there are too many, no further one is used", () => {
	const system = createTestSystem();
	const challenges = createChallenges(system);
	const use = () => {
		const asked = challenges.checkFor("ada");
		assert.ok(asked.isChallenge(challenges.make("ada")));
		return asked.useUp();
	};
	for (let count = 0; count < 10_000; count++) assert.equal(use(), true);
	assert.throws(use, { code: "overloaded" });
	system.advance(5 * 60_000);
	assert.equal(use(), true);
});
