import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { createSessionTokens } from "../crypto/session.ts";
import { AppError } from "../errors.ts";
import type { SignedPasskey } from "../factors/use.ts";
import { addAccount, openTestRules } from "../testing/rules.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import { createKnownSources } from "./known-sources.ts";
import { loginWithPasskey } from "./passkeys.ts";

const rules = await openTestRules({ after });
const { store, keyring, system } = rules;
const known_sources = createKnownSources({ store, keyring, system });
const ada = await addAccount(store, { password: "$argon2id$ that nobody types here" });

/** A server without failures, with a queue that makes nobody wait. */
function setUp() {
	const needs = {
		...{ ...rules, known_sources, throttle: createTestThrottle(known_sources) },
		sessions: createSessionTokens(() => keyring.session(), system),
		passwords: { run: <T>(_: unknown, check: () => Promise<T>) => check() },
	};
	/** Signs in as this user with a passkey that nobody has. @returns the refusal */
	return async (user_id: string, ip: string): Promise<string> => {
		const userHandle = Buffer.from(user_id).toString("base64url");
		const response = { clientDataJSON: "AA", authenticatorData: "AA", signature: "AA", userHandle };
		const expected = { origin: "", rp_id: "", isChallenge: () => true, useUp: async () => true };
		const passkey: SignedPasskey = { answer: { id: "AA", rawId: "AA", type: "public-key", response }, expected };
		try {
			await loginWithPasskey(needs, { request_id: "request", ip }, passkey);
		} catch (error) {
			if (error instanceof AppError) return `${error.code} ${error.message}`;
			throw error;
		}
		return "signed in";
	};
}

test("failures do not reveal which passkey handles belong to an account, however many there are", async () => {
	const refusalOf = setUp();
	for (let count = 0; count < 120; count++) await refusalOf(randomUUID(), `192.0.2.${count}`);
	const [nobody, other] = [await refusalOf(randomUUID(), "198.51.100.1"), await refusalOf("bob", "198.51.100.2")];
	assert.match(nobody, /^invalid_credentials /);
	assert.deepEqual([nobody, other], Array(2).fill(await refusalOf(ada.id, "198.51.100.3")));
});

test("repeated failures with a handle delay strangers equally, whether or not it belongs to an account", async () => {
	const nobody = randomUUID();
	for (const user_id of [nobody, ada.id]) {
		const refusalOf = setUp();
		for (let count = 0; count < 100; count++) await refusalOf(user_id, `192.0.2.${count}`);
		assert.match(await refusalOf(user_id, "198.51.100.1"), /^rate_limited /);
	}
});

test("a source that tries many handles has to wait", async () => {
	const refusalOf = setUp();
	for (let count = 0; count < 50; count++) await refusalOf(randomUUID(), "192.0.2.1");
	assert.match(await refusalOf(randomUUID(), "192.0.2.1"), /^rate_limited /);
});
