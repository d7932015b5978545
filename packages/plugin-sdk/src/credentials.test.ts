import assert from "node:assert/strict";
import { test } from "node:test";
import { expiresIn, managedName, newPassword, parseTtl, rfc3339 } from "./credentials.ts";
import { EngineError, optionalText, optionalTexts, ParamsError } from "./engine.ts";
import { newManagedUser, readManagedUsername } from "./managed-user.ts";
import { findRole } from "./roles.ts";

const refused = (begin: string) => (error: unknown) => error instanceof EngineError && error.message.startsWith(begin);

test("names are the prefix and 8 hex characters, passwords 24, and none comes twice", () => {
	const names = Array.from({ length: 200 }, () => managedName("svc-"));
	const passwords = Array.from({ length: 200 }, newPassword);
	for (const name of names) assert.match(name, /^svc-[0-9a-f]{8}$/);
	for (const password of passwords) assert.match(password, /^[0-9a-f]{24}$/);
	assert.equal(new Set(names).size, 200);
	assert.equal(new Set(passwords).size, 200);
});

test("instants are RFC 3339 in UTC with whole seconds", () => {
	assert.equal(rfc3339(new Date("2026-01-02T03:04:05.999+01:00")), "2026-01-02T02:04:05Z");
	const before = Math.floor(Date.now() / 1000);
	const lifetime = Date.parse(expiresIn(90_000)) / 1000 - before;
	assert.ok(lifetime >= 90 && lifetime <= 95);
});

test("a ttl is a duration, and its refusal says so", () => {
	assert.equal(parseTtl("90m"), 5_400_000);
	assert.equal(parseTtl("2d", { days: true }), 172_800_000);
	for (const text of ["", "2d", "soon", "0s"]) {
		assert.throws(
			() => parseTtl(text),
			(error) => error instanceof EngineError && /^invalid ttl: .*\bduration\b/.test(error.message),
		);
	}
});

test("a text of the params is its own text, absent, or refused", () => {
	assert.equal(optionalText({ a: "" }, "a"), "");
	for (const params of [{}, { a: undefined }, { a: null }]) assert.equal(optionalText(params, "a"), undefined);
	assert.equal(optionalText({}, "constructor"), undefined, "what every object inherits is none of the params");
	for (const a of [5, true, [], {}]) assert.throws(() => optionalText({ a }, "a"), ParamsError);
});

test("a list of texts of the params is its own list, empty, or refused", () => {
	assert.deepEqual(optionalTexts({ a: ["x", ""] }, "a"), ["x", ""]);
	for (const params of [{}, { a: null }, { a: [] }]) assert.deepEqual(optionalTexts(params, "a"), []);
	for (const a of ["x", 5, {}, ["x", 5], [null]]) assert.throws(() => optionalTexts({ a }, "a"), ParamsError);
});

test("a role is found by its name, and an unknown one is refused with those that there are", () => {
	const roles = [
		{ name: "reader", rank: 1 },
		{ name: "writer", rank: 2 },
	];
	assert.equal(findRole(roles, "writer").rank, 2);
	const table: [name: string, shown: string][] = [
		["Reader", "Reader"],
		["", ""],
		["toString", "toString"],
		["a\nb\u001b[2J\u202e", "a\\u{a}b\\u{1b}[2J\\u{202e}"],
		["\ud800", "\\u{d800}"],
		["x".repeat(64), "x".repeat(64)],
		["x".repeat(65), `${"x".repeat(64)}…`],
		["🔑".repeat(100_000), `${"🔑".repeat(64)}…`],
	];
	for (const [name, shown] of table) {
		assert.throws(() => findRole(roles, name), refused(`unknown role ${shown}: `), name);
	}
});

test("a managed user has a name that can be revoked, a password and an end", () => {
	const user = newManagedUser(60_000);
	assert.deepEqual(Object.keys(user), ["username", "password", "expires_at"]);
	assert.equal(readManagedUsername(user as unknown as Record<string, unknown>, "drop"), user.username);
});

test("only managed names can be revoked", () => {
	const refusing = "refusing to drop a non-managed user";
	assert.throws(() => readManagedUsername({}, "drop"), refused("username is required"));
	for (const username of [
		"root",
		"svc_",
		"svc_0123ABCD",
		"svc_0123abcd0",
		"svc-0123abcd",
		"xsvc_0123abcd",
		"svc_0123abcd\n",
	]) {
		assert.throws(() => readManagedUsername({ username }, "drop"), refused(refusing));
	}
	assert.throws(() => readManagedUsername({ username: ["svc_0123abcd"] }, "drop"), ParamsError);
});
