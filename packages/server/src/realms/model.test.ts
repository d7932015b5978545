import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError, type ErrorCode } from "../errors.ts";
import { check } from "../http/input.ts";
import { CreateRealm } from "./model.ts";

const read = (given: object) => check(CreateRealm, { slug: "payments", name: "Payments", ...given });
const refusedAs = (code: ErrorCode) => (error: unknown) => error instanceof AppError && error.code === code;

for (const slug of ["ab", "a1", "11", "a-b", "a--b", "payments-2030", "a".repeat(50), `a${"-".repeat(48)}b`]) {
	test(`${slug} is a slug`, () => {
		assert.equal(read({ slug }).slug, slug);
	});
}

const NO_SLUGS = [
	"a",
	"-a",
	"a-",
	"-",
	"--",
	"A1",
	"aB",
	"a_b",
	"a.b",
	"a b",
	" ab",
	"ab\n",
	"é1",
	"а1",
	"a/b",
	"a".repeat(51),
	"a%2d",
];
for (const slug of NO_SLUGS) {
	test(`${JSON.stringify(slug)} is no slug`, () => {
		assert.throws(() => read({ slug }), refusedAs("invalid_slug"));
	});
}

test("slug and name are required, and an empty one is missing", () => {
	for (const given of [{ slug: "" }, { slug: null }, { name: "" }, { name: undefined }]) {
		assert.throws(() => read(given), refusedAs("missing_field"));
	}
	assert.throws(() => read({ slug: 5 }), refusedAs("validation_failed"));
});

test("a name is at most 255 bytes and a description at most 2,048, which is empty when it is not given", () => {
	assert.equal(read({}).description, "");
	assert.equal(read({ description: null }).description, "");
	assert.equal(read({ name: "é".repeat(127), description: "é".repeat(1024) }).description.length, 1024);
	for (const given of [
		{ name: "é".repeat(128) },
		{ description: "é".repeat(1025) },
		{ description: "\ud800" },
		{ description: 5 },
	]) {
		assert.throws(() => read(given), refusedAs("validation_failed"));
	}
});
