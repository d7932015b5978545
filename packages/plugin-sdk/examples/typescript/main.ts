#!/usr/bin/env node
import { randomInt } from "node:crypto";
import { EngineError, optionalText, serveEngine } from "@svc/plugin-sdk";
import { checkDigit } from "./check-digit.ts";
import descriptor from "./plugin.json" with { type: "json" };

await serveEngine({
	descriptor,
	generate(params) {
		const prefix = optionalText(params, "prefix") ?? "V";
		if (!/^[A-Z]{1,10}$/.test(prefix)) throw new EngineError("prefix must be 1 to 10 capital letters");
		const digits = Array.from({ length: 15 }, () => randomInt(10)).join("");
		return { voucher: `${prefix}-${digits}${checkDigit(digits)}` };
	},
	validate(params) {
		const voucher = optionalText(params, "voucher");
		if (voucher === undefined) throw new EngineError("voucher is required");
		const [, digits = "", check] = /^[A-Z]{1,10}-(\d{15})(\d)$/.exec(voucher) ?? [];
		const valid = check !== undefined && check === checkDigit(digits);
		return { valid, message: valid ? "the check digit is right" : "not a voucher of ours" };
	},
});
