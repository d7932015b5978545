import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError, type ErrorCode } from "../errors.ts";
import { check } from "../http/input.ts";
import { MAX_VALUE_BYTES, Rollback, SetSecret } from "./model.ts";

const read = (given: object) => check(SetSecret, { key: "K", value: "v", ...given });
const refusedAs = (code: ErrorCode) => (error: unknown) => error instanceof AppError && error.code === code;

const KEYS = [
	"a",
	"DB_URL",
	"db.url",
	"db-url",
	"a/b/c",
	"/a",
	"a/",
	"a//b",
	"...",
	"..a",
	"a..",
	".a",
	"a.",
	"a/...",
	".../b",
	"a/.b/c.",
	"-",
	"_",
	"/",
	"0".repeat(255),
	`${"a/".repeat(127)}b`,
];
for (const key of KEYS) {
	test(`the key ${key.slice(0, 20)} of ${key.length} characters is taken as it is`, () => {
		assert.equal(read({ key }).key, key);
	});
}

const NO_KEYS = [
	".",
	"..",
	"./a",
	"../a",
	"a/.",
	"a/..",
	"a/./b",
	"a/../b",
	"a/b/../../c",
	"/..",
	"/.",
	"../",
	" a",
	"a ",
	"a b",
	"a\n",
	"\na",
	"a\u0000",
	"é",
	"а",
	"a%2Fb",
	"a\\b",
	"a?b",
	"a#b",
	"a:b",
	"a=b",
	"a&b",
	"a;b",
	"a*",
	"a+b",
	"~",
	"'",
	'"',
	"{a}",
	"🔑",
	"a".repeat(256),
	"\ud800",
];
for (const key of NO_KEYS) {
	test(`${JSON.stringify(key).slice(0, 20)} of ${key.length} characters is no key`, () => {
		assert.throws(() => read({ key }), refusedAs("validation_failed"));
	});
}

test("a key that could keep a pattern busy is refused immediately", () => {
	const cpu = process.threadCpuUsage();
	for (const key of [
		"/".repeat(500_000),
		`${"./".repeat(250_000)}`,
		`${"a/".repeat(250_000)}..`,
		".".repeat(500_000),
	]) {
		assert.throws(() => read({ key }), AppError);
	}
	const { user, system } = process.threadCpuUsage(cpu);
	assert.ok(user + system < 1_000_000, `${user + system} µs`);
});

test("a value is any text of up to 256 KiB, kept exactly", () => {
	const values = [" ", "\n", "\u0000", "a\r\nb", "🔑é", "e\u0301", "\ufeffx", "svc:v1:", "x".repeat(MAX_VALUE_BYTES)];
	for (const value of [...values, "é".repeat(MAX_VALUE_BYTES / 2)]) assert.ok(read({ value }).value === value);
	assert.throws(() => read({ value: "" }), refusedAs("missing_field"));
	for (const value of ["x".repeat(MAX_VALUE_BYTES + 1), `x${"é".repeat(MAX_VALUE_BYTES / 2)}`, "\udc00", 5, {}, [""]]) {
		assert.throws(() => read({ value }), refusedAs("validation_failed"));
	}
});

test("what is not given has its default, and null is not given", () => {
	const defaults = { environment: "dev", comment: "", pre_encrypted: false };
	assert.deepEqual(read({}), { key: "K", value: "v", ...defaults });
	const nulls = { environment: null, comment: null, pre_encrypted: null, expires_at: null };
	assert.deepEqual(read(nulls), { key: "K", value: "v", expires_at: null, ...defaults });
});

test("an environment that is empty or unknown has a code of its own", () => {
	for (const environment of ["", "production", "DEV", 5, ["dev"], {}]) {
		assert.throws(() => read({ environment }), refusedAs("invalid_environment"));
	}
});

test("text that was encrypted before must begin as ours does, and only when that is said", () => {
	assert.equal(read({ pre_encrypted: true, value: "svc:v1:anything" }).pre_encrypted, true);
	for (const value of ["v", "svc:v1", "SVC:v1:x", " svc:v1:x", "svc:v2:x", "xsvc:v1:"]) {
		assert.throws(() => read({ pre_encrypted: true, value }), refusedAs("invalid_ciphertext"));
		assert.equal(read({ pre_encrypted: false, value }).value, value);
	}
	for (const pre_encrypted of ["true", 1, {}])
		assert.throws(() => read({ pre_encrypted }), refusedAs("validation_failed"));
});

test("a comment is text of at most 1,024 bytes", () => {
	assert.equal(read({ comment: "é".repeat(512) }).comment.length, 512);
	for (const comment of ["é".repeat(513), "\ud800", 5])
		assert.throws(() => read({ comment }), refusedAs("validation_failed"));
});

test("a rollback names a version, a whole number from 1", () => {
	assert.equal(check(Rollback, { version: 3 }).version, 3);
	assert.throws(() => check(Rollback, {}), refusedAs("missing_field"));
	for (const version of ["3", 0, -1, 1.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, [3], true]) {
		assert.throws(() => check(Rollback, { version }), refusedAs("validation_failed"));
	}
});
