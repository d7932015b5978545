#!/usr/bin/env node
/* An svc engine in TypeScript, one file that Node 24 runs as it is: makes voucher numbers with a check digit, and checks them. */
import { randomInt } from "node:crypto";
import process from "node:process";

const DESCRIPTION = {
	name: "voucher",
	version: "0.1.0",
	display_name: "Vouchers",
	description: "Makes voucher numbers with a check digit, and checks them",
	capabilities: ["secret_generation", "secret_validation"],
};

type Fields = Readonly<Record<string, unknown>>;

/** A request that cannot be met; the message is the response's error and never quotes the request. */
class Refused extends Error {}

/** The digit that makes a number end in 0 under the Luhn algorithm (ISO/IEC 7812-1 annex B). */
function checkDigit(digits: string): string {
	const weighed = [...digits].reverse().map((digit, index) => Number(digit) * (2 - (index % 2)));
	const sum = weighed.reduce((total, number) => total + (number > 9 ? number - 9 : number), 0);
	return String((10 - (sum % 10)) % 10);
}

/** Reads a text param; undefined when it is absent. */
function text(params: Fields, name: string): string | undefined {
	const value = params[name] ?? undefined;
	if (value === undefined || typeof value === "string") return value;
	throw new Refused(`invalid params: ${name} must be a string`);
}

function generate(params: Fields): object {
	const prefix = text(params, "prefix") ?? "V";
	if (!/^[A-Z]{1,10}$/.test(prefix)) throw new Refused("prefix must be 1 to 10 capital letters");
	const digits = Array.from({ length: 15 }, () => randomInt(10)).join("");
	return { voucher: `${prefix}-${digits}${checkDigit(digits)}` };
}

function validate(params: Fields): object {
	const voucher = text(params, "voucher");
	if (voucher === undefined) throw new Refused("voucher is required");
	const [, digits = "", check] = /^[A-Z]{1,10}-(\d{15})(\d)$/.exec(voucher) ?? [];
	const valid = check !== undefined && check === checkDigit(digits);
	return { valid, message: valid ? "the check digit is right" : "not a voucher of ours" };
}

const METHODS = new Map<unknown, (params: Fields) => object>([
	["describe", () => DESCRIPTION],
	["ping", () => ({ status: "healthy" })],
	["generate", generate],
	["validate", validate],
]);

const isObject = (value: unknown): value is Fields =>
	typeof value === "object" && value !== null && !Array.isArray(value);

function respond(line: string): object {
	let request: unknown;
	try {
		request = JSON.parse(line);
	} catch {
		throw new Refused("invalid params: the request is not valid JSON");
	}
	if (!isObject(request)) throw new Refused("invalid params: the request must be an object");
	const { method, params = {} } = request;
	if (!isObject(params)) throw new Refused("invalid params: params must be an object");
	const answer = METHODS.get(method);
	if (answer === undefined) throw new Refused("unknown method");
	return answer(params);
}

function write(line: string): void {
	try {
		process.stdout.write(`${JSON.stringify({ data: respond(line) })}\n`);
	} catch (error) {
		if (!(error instanceof Refused)) throw error;
		process.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
	}
}

// One request a line, one response a line; the end of the input ends the program.
let unfinished = "";
for await (const chunk of process.stdin.setEncoding("utf8")) {
	const lines = `${unfinished}${chunk}`.split("\n");
	unfinished = lines.pop() ?? "";
	lines.forEach(write);
}
