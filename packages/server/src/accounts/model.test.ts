import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import * as v from "valibot";
import { AppError, type ErrorCode } from "../errors.ts";
import { check } from "../http/input.ts";
import { ChangePassword, Email, Login, NewPassword, Register } from "./model.ts";

const EMAILS: [typed: string, kept: string][] = [
	["ada@example.com", "ada@example.com"],
	["Ada@Example.COM", "ada@example.com"],
	["  ada@example.com\n", "ada@example.com"],
	["\u00a0ada@example.com\u2003", "ada@example.com"],
	["ＡＤＡ＠example．com", "ada@example.com"],
	["ada\uff20example.com", "ada@example.com"],
	["ﬁona@example.com", "fiona@example.com"],
	["e\u0301va@example.com", "éva@example.com"],
	["ÉVA@example.com", "éva@example.com"],
	["İ@example.com", "i\u0307@example.com"],
	["a+b_c.d-e'f@sub.example.co", "a+b_c.d-e'f@sub.example.co"],
	["a@b", "a@b"],
	["ada@[192.0.2.1]", "ada@[192.0.2.1]"],
	["ключ@пример.рф", "ключ@пример.рф"],
	["🔑@example.com", "🔑@example.com"],
];
for (const [typed, kept] of EMAILS) {
	test(`the e-mail ${JSON.stringify(typed)} is kept as ${JSON.stringify(kept)}, and so is that`, () => {
		assert.equal(v.parse(Email, typed), kept);
		assert.equal(v.parse(Email, kept), kept);
		assert.equal(check(Login, { email: typed, password: "x" }).email, kept, "a login finds it");
	});
}

const NO_EMAILS: [typed: unknown, code: ErrorCode][] = [
	["", "missing_field"],
	["   ", "missing_field"],
	[undefined, "missing_field"],
	[null, "missing_field"],
	[5, "validation_failed"],
	["ada", "validation_failed"],
	["@", "validation_failed"],
	["@example.com", "validation_failed"],
	["ada@", "validation_failed"],
	["a@b@c", "validation_failed"],
	["a＠b@c", "validation_failed"],
	["a b@example.com", "validation_failed"],
	["ada@exam ple.com", "validation_failed"],
	["ada\u0000@example.com", "validation_failed"],
	["ada@example.com\u0007", "validation_failed"],
	["ada\u200b@example.com", "validation_failed"],
	["ada\u202e@example.com", "validation_failed"],
	["a\nb@example.com", "validation_failed"],
	["\ud800@example.com", "validation_failed"],
	[`${"a".repeat(243)}@example.com`, "validation_failed"],
	[`${"é".repeat(243)}@example.com`, "validation_failed"],
	["ﷺ@example.com", "validation_failed"],
];
for (const [typed, code] of NO_EMAILS) {
	test(`${String(JSON.stringify(typed)).slice(0, 40)} is no e-mail to register with: ${code}`, () => {
		assert.throws(
			() => check(Register, { email: typed, password: "correct horse battery" }),
			(error) => error instanceof AppError && error.code === code,
		);
	});
}

test("an e-mail of exactly 254 characters is taken, counted after it was normalised", () => {
	const longest = `${"a".repeat(242)}@example.com`;
	for (const letter of ["ü", "é", "語", "𝔘"]) {
		const typed = `${letter.repeat(242)}@example.com`;
		assert.equal(v.parse(Email, typed), typed.normalize("NFKC").toLowerCase());
		assert.throws(() => v.parse(Email, `${letter}${typed}`), /254 characters/);
	}
	assert.equal(v.parse(Email, longest), longest);
	assert.equal(v.parse(Email, `${"ａ".repeat(242)}@example.com`), longest);
	assert.equal(v.parse(Email, ` ${longest} `), longest);
});

const PASSWORDS: [what: string, password: string, code: ErrorCode | "accepted"][] = [
	["eleven characters", "x".repeat(11), "password_too_short"],
	["twelve", "x".repeat(12), "accepted"],
	["eleven characters outside the basic plane, which are 22 units", "🔑".repeat(11), "password_too_short"],
	["twelve of them", "🔑".repeat(12), "accepted"],
	["twelve that become six", "e\u0301".repeat(6), "password_too_short"],
	["twenty-four that become twelve", "e\u0301".repeat(12), "accepted"],
	["six that become twelve", "ﬁ".repeat(6), "accepted"],
	["a thousand and twenty-four", "x".repeat(1024), "accepted"],
	["one more", "x".repeat(1025), "validation_failed"],
	["1,024 outside the basic plane", "🔑".repeat(1024), "accepted"],
	["few that become too many", "ﷺ".repeat(60), "validation_failed"],
	["blanks", " ".repeat(12), "accepted"],
	["controls", "\u0000\n\t".repeat(4), "accepted"],
	["nothing", "", "missing_field"],
	["half a character", `${"x".repeat(12)}\ud800`, "validation_failed"],
];
for (const [what, password, code] of PASSWORDS) {
	test(`a password of ${what} is ${code}`, () => {
		const read = () => check(v.object({ password: NewPassword }), { password });
		if (code === "accepted") assert.equal(read().password, password, "it is not changed: hashing normalises it");
		else {
			assert.throws(read, (error) => error instanceof AppError && error.code === code && !error.message.includes("🔑"));
		}
	});
}

test("a login takes any password and any text for an e-mail, so that it tells nothing about what may be registered", () => {
	assert.deepEqual(check(Login, { email: " Not An E-Mail ", password: "x" }), {
		email: "not an e-mail",
		password: "x",
	});
	for (const bad of [
		{ email: "a@b" },
		{ password: "x" },
		{ email: "", password: "x" },
		{ email: "a@b", password: "" },
	]) {
		assert.throws(
			() => check(Login, bad),
			(error) => error instanceof AppError && error.code === "missing_field",
		);
	}
});

test("a name is optional, and text of at most 255 bytes", () => {
	const nameOf = (name: unknown) => check(Register, { email: "a@b", password: "x".repeat(12), name }).name;
	assert.deepEqual([nameOf(undefined), nameOf(null), nameOf(""), nameOf(" Ada ")], ["", "", "", " Ada "]);
	assert.equal(nameOf("é".repeat(127)).length, 127);
	for (const name of ["é".repeat(128), "\ud800", 5, ["Ada"]]) assert.throws(() => nameOf(name), AppError);
});

test("a text that is far too long is not made longer before it is refused", () => {
	// One of these is 18 characters after NFKC.
	const long = "\ufdfa".repeat(349_000);
	assert.deepEqual(check(Login, { email: long, password: long }), { email: "", password: "\0" });
	const register = (fields: object) => () =>
		check(Register, { email: "ada@example.com", password: "x".repeat(12), ...fields });
	assert.throws(register({ email: long }), { code: "validation_failed", message: /^email\b/ });
	assert.throws(register({ password: long }), { code: "validation_failed", message: /^password\b/ });
});

/** Runs the check and answers the refusal's message and how many texts were normalized. */
function normalizing(t: TestContext, run: () => unknown): { message: string; normalized: number } {
	const { normalize } = String.prototype;
	let normalized = 0;
	t.mock.method(String.prototype, "normalize", function (this: string, ...form: [string]) {
		normalized++;
		return normalize.apply(this, form);
	});
	try {
		run();
		return { message: "", normalized };
	} catch (error) {
		assert.ok(error instanceof AppError && error.code === "validation_failed", String(error));
		return { message: error.message, normalized };
	} finally {
		t.mock.restoreAll();
	}
}

const RUN = `correct horse ${"\u0301\u0323".repeat(16)}`;
const MAIL = `a${"\u0301".repeat(31)}@example.com`;
const limit = (field: string) => `${field} must not have more than 30 combining marks in a row`;

test("texts with more than thirty combining marks in a row are refused before they are normalized", (t) => {
	const good = { email: "ada@example.com", password: "correct horse battery" };
	const cases: [schema: typeof Register | typeof Login | typeof ChangePassword, input: object, field: string][] = [
		[Register, { ...good, password: RUN }, "password"],
		[Register, { ...good, email: MAIL }, "email"],
		[Login, { ...good, email: MAIL }, "email"],
		[ChangePassword, { current_password: RUN, new_password: good.password }, "current_password"],
		[ChangePassword, { current_password: good.password, new_password: RUN }, "password"],
	];
	for (const [schema, input, field] of cases) {
		const { message, normalized } = normalizing(t, () => check(schema, input));
		assert.equal(message, limit(field));
		assert.ok(normalized <= 1, "only what was checked before it");
	}
	assert.deepEqual(
		normalizing(t, () => check(Login, { ...good, password: RUN })),
		{ message: limit("password"), normalized: 1 },
		"the e-mail alone",
	);
	assert.equal(v.is(Email, MAIL), false, "a provider's claim is none either");
});
