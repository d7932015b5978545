import assert from "node:assert/strict";
import test from "node:test";
import { didYouMean, nearest } from "./nearest.ts";

const NAMES = ["DB_URI", "DATABASE_URL", "STRIPE_KEY", "TLS_KEY", "prod", "dev", "web/cert.pem"];

const NEAR: readonly (readonly [typed: string, names: readonly string[]])[] = [
	["DB_URL", ["DB_URI"]],
	["BD_URI", ["DB_URI"]],
	["database-url", ["DATABASE_URL"]],
	["DATABASE_URLS", ["DATABASE_URL"]],
	["TLSKEY", ["TLS_KEY"]],
	["production", ["prod"]],
	["pord", ["prod"]],
	["web-cert.pem", ["web/cert.pem"]],
	["STRIPE", ["STRIPE_KEY"]],
	["de", ["dev"]],
	["PAYMENTS", []],
	["x", []],
	["", []],
	["DB_URI", []],
];

for (const [typed, names] of NEAR) {
	test(`near ${JSON.stringify(typed)} is ${names.join(", ") || "nothing"}`, () => {
		assert.deepEqual(nearest(typed, NAMES), names);
	});
}

test("names that are equally near are suggested together, three at most, each once", () => {
	assert.equal(didYouMean("KEY_0", ["KEY_1", "KEY_2", "KEY_1"]), "did you mean KEY_1 or KEY_2?");
	assert.equal(nearest("KEY_0", ["KEY_1", "KEY_2", "KEY_3", "KEY_4"]).length, 3);
	assert.equal(didYouMean("OTHER", NAMES), undefined);
});

test("a long word and thousands of names take at most a few milliseconds", () => {
	const names = Array.from({ length: 20_000 }, (_, index) => `${"N".repeat(60)}${index}`);
	const started = performance.now();
	assert.deepEqual(nearest("N".repeat(100_000), names), []);
	assert.equal(nearest("N".repeat(60), names).length, 3);
	assert.ok(performance.now() - started < 1000);
});
