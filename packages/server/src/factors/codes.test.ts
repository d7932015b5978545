/* Codes of second factors at the rules: how they are counted, and what uses them up. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createKnownSources } from "../accounts/known-sources.ts";
import { login } from "../accounts/login.ts";
import { createPasswordQueue } from "../accounts/password-queue.ts";
import { hashPassword } from "../crypto/password.ts";
import { createSessionTokens } from "../crypto/session.ts";
import { anActor } from "../testing/actor.ts";
import { eventsAfter } from "../testing/events.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, openTestRules } from "../testing/rules.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import { withTotp } from "../testing/totp.ts";
import { renewRecoveryCodes } from "./factors.ts";
import { countWrongCode, refuseGuesser } from "./use.ts";

const { store, system, keyring } = await openTestRules({ after });
const known_sources = createKnownSources({ store, keyring, system });
const throttle = createTestThrottle(known_sources);
const passwords = createPasswordQueue({ all: 2 });
const sessions = createSessionTokens(() => keyring.session(), system);
const address = () => "https://svc.example.com";
const needs = { store, system, keyring, known_sources, throttle, passwords, sessions, address };
const PASSWORD = "the password of the account";
const stored = await hashPassword(PASSWORD);
const ELSEWHERE = { request_id: "request", ip: "203.0.113.9" };

/** Somebody with a second factor. `code` is the app's code this many steps from now; that of now is used. */
async function withFactor() {
	const account = await addAccount(store, { password: stored });
	const session = aSession(account.id);
	await store.accounts.openSession({ session, password: stored }, anEvent());
	const actor = anActor({ user_id: account.id, email: account.email, jti: session.jti });
	const factor = await withTotp(needs, actor, PASSWORD);
	const typed = { email: account.email, password: PASSWORD };
	return { actor, typed, ...factor };
}

test("wrong codes make the app's codes wait, and no recovery code", async () => {
	const { code, recovery_codes, typed } = await withFactor();
	for (let count = 0; count < 20; count++) await throttle.wrongCode(typed.email, `198.51.100.${count}`);
	await assert.rejects(login(needs, ELSEWHERE, { ...typed, code: code(1) }), { code: "rate_limited" });
	await login(needs, ELSEWHERE, { ...typed, code: recovery_codes[0] });
});

test("a wrong recovery code is a failed login, and makes no code of the app wait", async () => {
	const typist = { email: "ada@example.com", ip: ELSEWHERE.ip };
	let failures = 0;
	const failed = async () => void failures++;
	for (let count = 0; count < 20; count++) await countWrongCode(needs, typist, "AAAAAAAAAA", failed);
	await refuseGuesser(needs, typist, "000000");
	for (let count = 0; count < 20; count++) await countWrongCode(needs, typist, "000000", failed);
	await assert.rejects(refuseGuesser(needs, typist, "000000"), { code: "rate_limited" });
	await refuseGuesser(needs, typist, "AAAAAAAAAA");
	assert.equal(failures, 40);
});

test("a code that was used meanwhile counts as a wrong one, and the log has it", async () => {
	const { actor, code } = await withFactor();
	const asked = { current_password: PASSWORD, code: code(1) };
	let wrong = 0;
	const counting = { ...throttle, wrongCode: async () => void wrong++ };
	const failures = async () => (await eventsAfter(store, 0)).filter(([type]) => type === "auth.login.failed").length;
	const before = await failures();
	const both = await Promise.allSettled([
		renewRecoveryCodes({ ...needs, throttle: counting }, actor, asked),
		renewRecoveryCodes({ ...needs, throttle: counting }, { ...actor, ip: ELSEWHERE.ip }, asked),
	]);
	assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
	assert.deepEqual([wrong, (await failures()) - before], [1, 1]);
});

test("a confirmed factor leaves only its own source known, as another password does", async () => {
	const account = await addAccount(store, { password: stored });
	const session = aSession(account.id);
	const known = known_sources.note(account.email, "198.51.100.77");
	await store.accounts.openSession({ session, password: stored, known }, anEvent());
	const actor = anActor({ user_id: account.id, email: account.email, jti: session.jti });
	assert.equal(await known_sources.knows(account.email, "198.51.100.77"), true);
	await withTotp(needs, actor, PASSWORD);
	assert.equal(await known_sources.knows(account.email, "198.51.100.77"), false);
	assert.equal(await known_sources.knows(account.email, actor.ip), true);
});
