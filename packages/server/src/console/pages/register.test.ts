import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../errors.ts";
import { textOf } from "../html.ts";
import { type RegisterNeeds, registerPage } from "./register.ts";

const needs = {
	store: { accounts: { hadAny: async () => true } },
	registration: { mode: "open" },
} as unknown as RegisterNeeds;
const refused = new AppError("validation_failed", "the two passwords differ");

test("a stranger's refused form keeps what was typed, unless it is too long to be a name or an e-mail", async () => {
	const kept = await registerPage(needs, { email: "ada@example.com", name: "Ada" }, refused);
	assert.match(textOf(kept.body), /value="ada@example\.com"[\s\S]*value="Ada"/);
	const dropped = await registerPage(needs, { email: '"'.repeat(1025), name: "&".repeat(1_000_000) }, refused);
	assert.ok(textOf(dropped.body).length < 4096);
});
