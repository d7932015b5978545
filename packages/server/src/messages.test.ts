import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { codeOf, ENVIRONMENTS, Environment, errorMessage, instantOf, RequiredText, Text } from "./messages.ts";

const INSTANTS: [text: string, kept: string][] = [
	["2030-01-31T00:00:00Z", "2030-01-31T00:00:00.000Z"],
	["2030-01-31t00:00:00z", "2030-01-31T00:00:00.000Z"],
	["2030-01-31T01:00:00+01:00", "2030-01-31T00:00:00.000Z"],
	["2030-01-30T19:30:00-04:30", "2030-01-31T00:00:00.000Z"],
	["2030-01-31T00:00:00+00:00", "2030-01-31T00:00:00.000Z"],
	["2030-01-31T00:00:00-00:00", "2030-01-31T00:00:00.000Z"],
	["2030-01-31T23:59:59.9Z", "2030-01-31T23:59:59.900Z"],
	["2030-01-31T23:59:59.123Z", "2030-01-31T23:59:59.123Z"],
	["2030-01-31T23:59:59.123456789Z", "2030-01-31T23:59:59.123Z"],
	["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
	["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
	["2030-12-31T23:59:59-01:00", "2031-01-01T00:59:59.000Z"],
];
for (const [text, kept] of INSTANTS) {
	test(`the instant ${text} is kept as ${kept}`, () => {
		assert.equal(v.parse(instantOf("expires_at"), text), kept);
	});
}

const NO_INSTANTS = [
	"",
	"tomorrow",
	"2030-01-31",
	"2030-01-31T00:00:00",
	"2030-01-31 00:00:00Z",
	"2030-01-31T00:00Z",
	"2030-01-31T00:00:00 Z",
	"2030-01-31T00:00:00+0100",
	"2030-01-31T00:00:00+01",
	"2030-01-31T00:00:00.Z",
	"2030-01-31T00:00:00.1234567890Z",
	"2030-02-30T00:00:00Z",
	"2030-02-29T00:00:00Z",
	"2100-02-29T00:00:00Z",
	"2030-04-31T00:00:00Z",
	"2030-00-01T00:00:00Z",
	"2030-13-01T00:00:00Z",
	"2030-01-00T00:00:00Z",
	"2030-01-32T00:00:00Z",
	"2030-01-31T25:00:00Z",
	"2030-01-31T00:60:00Z",
	"2030-01-31T00:00:61Z",
	"30-01-31T00:00:00Z",
	"+012030-01-31T00:00:00Z",
	"2030-1-31T00:00:00Z",
	"1893456000",
	" 2030-01-31T00:00:00Z",
	"2030-01-31T00:00:00Z\n",
	"２０30-01-31T00:00:00Z",
];
for (const text of NO_INSTANTS) {
	test(`${JSON.stringify(text)} is no instant`, () => {
		assert.equal(v.is(instantOf("expires_at"), text), false);
	});
}

test("instants that are kept are in the order of time when they are compared as text", () => {
	const kept = [
		"2030-01-31T02:00:00+03:00",
		"2030-01-31T00:00:00Z",
		"2030-01-30T23:30:00-01:00",
		"2030-01-31T00:30:00.001Z",
	];
	const texts = kept.map((text) => v.parse(instantOf("expires_at"), text));
	assert.deepEqual(
		texts,
		texts.toSorted((a, b) => (a < b ? -1 : 1)),
	);
	assert.equal(new Set(texts.map((text) => text.length)).size, 1);
});

test("environments are the four of the specification, in small letters", () => {
	assert.deepEqual(ENVIRONMENTS, ["dev", "staging", "prod", "test"]);
	for (const name of ENVIRONMENTS) assert.equal(v.parse(Environment, name), name);
	for (const name of ["", "Prod", "production", " dev", "dev ", null, 0, ["dev"]]) assert.ok(!v.is(Environment, name));
});

test("text is any well-formed Unicode, and required text is not empty", () => {
	for (const text of ["a", " ", "\u0000", "🔑", "\ufeff", "\u202e"])
		assert.ok(v.is(RequiredText, text), JSON.stringify(text));
	assert.ok(v.is(Text, ""));
	assert.ok(!v.is(RequiredText, ""));
	for (const text of ["\ud800", "a\udc00", "\udd11\ud83d", 5, null, {}])
		assert.ok(!v.is(Text, text), JSON.stringify(text));
});

test("a message made here has the code it was made with, and no other text has any", () => {
	assert.equal(codeOf(errorMessage("conflict", "a text of this test")), "conflict");
	assert.equal(codeOf("Invalid type: Expected string but received 5"), undefined);
	assert.equal(codeOf(""), undefined);
});
