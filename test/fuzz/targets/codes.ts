import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { digestsOf, isOneOf, newCode, newRecoveryCodes } from "../../../packages/server/src/crypto/codes.ts";
import { AppError } from "../../../packages/server/src/errors.ts";
import { ConfirmFactor } from "../../../packages/server/src/factors/model.ts";
import { stepOf } from "../../../packages/server/src/factors/totp.ts";
import { check } from "../../../packages/server/src/http/input.ts";
import { ResetPassword } from "../../../packages/server/src/resets/model.ts";
import { createTestSystem } from "../../../packages/server/src/testing/system.ts";
import { accepted, type Target } from "../target.ts";

/** Limit for a body, in bytes. */
const BODY = 1024 * 1024;

const system = { ...createTestSystem(), randomBytes: (size: number) => Buffer.alloc(size, 0x5a) };
const macKey = { id: "00", bytes: Buffer.alloc(32, 1), retired_at: undefined };
const needs = { system, keyring: { session: () => ({ active: macKey, byId: new Map([["00", macKey]]) }) } };
const recovery = newRecoveryCodes(needs, 1);
const [typed = ""] = recovery.codes;
const reset = newCode(needs, "reset");

const secret = Buffer.alloc(20, 7);
const step = Math.floor(system.now().getTime() / 30_000);

/** The code of a step, by RFC 6238. */
function codeOf(at: number): string {
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(at));
	const mac = createHmac("sha1", secret).update(counter).digest();
	return String((mac.readUInt32BE((mac.at(-1) ?? 0) % 16) % 2 ** 31) % 1_000_000).padStart(6, "0");
}

const steps = new Map([-1, 0, 1].map((distance) => [codeOf(step + distance), step + distance]));
const rest = { email: "ada@example.com", new_password: "a password that is long enough" };

/** A code is right when it is the one that was made, in any spelling that people use, and for its own purpose alone. */
export const code: Target = {
	sources: [
		"packages/server/src/crypto/codes.ts",
		"packages/server/src/factors/model.ts",
		"packages/server/src/factors/totp.ts",
		"packages/server/src/resets/model.ts",
		"packages/server/src/http/input.ts",
	],
	max_bytes: BODY,
	seeds: [codeOf(step), codeOf(step + 2), typed, typed.toLowerCase().replace("-", " "), reset.code, ` ${reset.code} `],
	tokens: [" ", "-", "\u2003", "\u0660", "0", "ı", ...steps.keys(), typed.slice(0, 5), typed.slice(6), reset.code],
	async check(input) {
		const text = input.toString();
		const factor = accepted(AppError, () => check(ConfirmFactor, { code: text }))?.code;
		if (factor !== undefined) {
			assert.equal(await stepOf(secret, factor, system.now()), steps.get(factor));
			const isRecovery = isOneOf(digestsOf(needs, "recovery", factor), recovery.digests);
			assert.equal(isRecovery, factor === typed.replace("-", ""));
			assert.equal(isOneOf(digestsOf(needs, "reset", factor), recovery.digests), false);
		}
		const given = accepted(AppError, () => check(ResetPassword, { ...rest, code: text }))?.code;
		if (given === undefined) return;
		assert.equal(isOneOf(digestsOf(needs, "reset", given), reset.digest), text.trim() === reset.code);
		assert.equal(isOneOf(digestsOf(needs, "invitation", given), reset.digest), false);
	},
};
