import assert from "node:assert/strict";
import { after, mock, test } from "node:test";
import { type FakeProvider, newSigningKey, signWith, startFakeProvider } from "../../../../../test/peers/oidc-fake.ts";
import { createKeys } from "./keys.ts";
import { createOidc } from "./oidc.ts";
import { logIn, settingsOf } from "./testing.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

/** Both clocks: the process's, and the machine's, which the library reads. */
const started = performance.now();
let ahead_ms = 0;
mock.method(performance, "now", () => started + ahead_ms);
mock.timers.enable({ apis: ["Date"], now: Date.now() });

function pass(ms: number): void {
	ahead_ms += ms;
	mock.timers.setTime(Date.now() + ms);
}

const fetched = (peer: FakeProvider) => peer.asked.filter((endpoint) => endpoint === "keys").length;

test("a provider's new key is found, and its keys are fetched once a minute whatever key is named", async () => {
	const peer = await startFakeProvider();
	ends.defer(peer.stop);
	const oidc = createOidc();
	const attempts = (count: number) =>
		Promise.all(Array.from({ length: count }, () => logIn(oidc, settingsOf(peer)).catch(({ reason }) => reason)));
	await attempts(1);
	assert.equal(fetched(peer), 1);

	const { key, jwk } = newSigningKey("second");
	const signed = { sign: signWith(key), header: (truth: object) => ({ ...truth, kid: "second" }) };
	peer.lie = signed;
	assert.deepEqual(new Set(await attempts(10)), new Set(["signature"]));
	assert.equal(fetched(peer), 1, "the keys are as young as that");
	pass(61_000);
	assert.deepEqual(new Set(await attempts(10)), new Set(["signature"]));
	assert.equal(fetched(peer), 2, "ten at once ask once");

	peer.lie = { ...signed, keys: (truth) => [...truth, jwk] };
	assert.deepEqual(await attempts(1), ["signature"]);
	pass(61_000);
	for (const answer of await attempts(10)) assert.equal(answer.subject, "mallory");
	assert.equal(fetched(peer), 3);
});

test("keys are fetched once by those who ask at the same time, and again after a failure", async () => {
	let asked = 0;
	const answers = [() => Promise.reject(new Error("lost")), async () => Response.json({ keys: [{ kty: "EC" }] })];
	const keys = createKeys(() => answers[asked++]?.() ?? Promise.reject(new Error("asked too often")));
	const failures = await Promise.allSettled([keys({}), keys({})]);
	assert.deepEqual(
		failures.map(({ status }) => status),
		["rejected", "rejected"],
	);
	assert.equal(asked, 1);
	for (const response of await Promise.all([keys({}), keys({})])) {
		assert.deepEqual(await response.json(), { keys: [{ kty: "EC" }] });
	}
	pass(59_999);
	await keys({});
	assert.equal(asked, 2);
	// Two: the clock counts in fractions, and their sum is rounded.
	pass(2);
	await assert.rejects(keys({}), /too often/);
});
