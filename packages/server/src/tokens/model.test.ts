import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError, type ErrorCode } from "../errors.ts";
import { check } from "../http/input.ts";
import { CreateToken } from "./model.ts";

const read = (given: object) => check(CreateToken, { name: "ci", ...given });
const refusedAs = (code: ErrorCode) => (error: unknown) => error instanceof AppError && error.code === code;

const SCOPES: [given: unknown, kept: string[]][] = [
	[undefined, ["read"]],
	[null, ["read"]],
	["", ["read"]],
	["  ", ["read"]],
	["read", ["read"]],
	["delete", ["delete"]],
	["delete,write,read", ["read", "write", "delete"]],
	["write , read", ["read", "write"]],
	[" read,\twrite\n", ["read", "write"]],
	["read,read,read", ["read"]],
];
for (const [given, kept] of SCOPES) {
	test(`the scopes ${JSON.stringify(given)} are ${kept.join()}`, () => {
		assert.deepEqual(read({ scopes: given }).scopes, kept);
	});
}

for (const scopes of [
	"admin",
	"READ",
	"read;write",
	"read write",
	"read,",
	",",
	",read",
	"read,,write",
	"*",
	"read,CANARY",
	"rеad",
]) {
	test(`the scopes ${JSON.stringify(scopes)} are refused`, () => {
		assert.throws(
			() => read({ scopes }),
			(error) => refusedAs("invalid_scope")(error) && !(error as Error).message.includes("CANARY"),
		);
	});
}

test("scopes of another kind are refused", () => {
	for (const scopes of [5, ["read"], { read: true }, true])
		assert.throws(() => read({ scopes }), refusedAs("validation_failed"));
});

test("a name is required, and text of at most 255 bytes", () => {
	assert.equal(read({ name: "é".repeat(127) }).name.length, 127);
	for (const name of [undefined, null, ""]) assert.throws(() => read({ name }), refusedAs("missing_field"));
	for (const name of ["é".repeat(128), "\ud800", 5])
		assert.throws(() => read({ name }), refusedAs("validation_failed"));
});

test("restrictions are optional, null is none, and empty ones are refused", () => {
	const { realm, environment, expires_at } = read({ realm: null, environment: null, expires_at: null });
	assert.deepEqual([realm, environment, expires_at], [null, null, null]);
	assert.equal(read({ expires_at: "2090-01-01T00:00:00+01:00" }).expires_at, "2089-12-31T23:00:00.000Z");
	assert.throws(() => read({ realm: "" }), refusedAs("validation_failed"));
	assert.throws(() => read({ environment: "" }), refusedAs("invalid_environment"));
	assert.throws(() => read({ expires_at: "" }), refusedAs("validation_failed"));
});
