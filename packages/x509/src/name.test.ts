import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeName } from "./name.ts";

test("a name is a sequence of one set for the organization and one for the common name", () => {
	const hex = encodeName({ common_name: "a", organization: "b" }).toString("hex");
	assert.equal(hex, `3018${"310a"}3008${"060355040a"}0c0162${"310a"}3008${"0603550403"}0c0161`);
});

test("an empty organization is left out", () => {
	const hex = encodeName({ common_name: "a", organization: "" }).toString("hex");
	assert.equal(hex, `300c${"310a"}3008${"0603550403"}0c0161`);
});

test("a name that would mislead its reader is refused without repeating it", () => {
	const table: [string, string, string][] = [
		["", "Acme", "common_name is required"],
		["a\0b", "Acme", "common_name must not contain control characters"],
		["a\r\nb", "Acme", "common_name must not contain control characters"],
		["a\u0085b", "Acme", "common_name must not contain control characters"],
		["a\ud800", "Acme", "common_name must not contain control characters"],
		["a", "Ac\u007fme", "organization must not contain control characters"],
		["a".repeat(65), "Acme", "common_name must have at most 64 characters"],
		["a", "é".repeat(65), "organization must have at most 64 characters"],
	];
	for (const [common_name, organization, message] of table) {
		assert.throws(() => encodeName({ common_name, organization }), { message });
	}
});

test("64 characters fit, however many bytes they take", () => {
	assert.ok(encodeName({ common_name: "😀".repeat(64), organization: "" }).includes("😀".repeat(64)));
});
