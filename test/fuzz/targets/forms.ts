import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { cookiesFor } from "../../../packages/server/src/console/cookies.ts";
import { AppError } from "../../../packages/server/src/errors.ts";
import { readForm } from "../../../packages/server/src/http/input.ts";
import type { Target } from "../target.ts";

/** Size of a form of the console. */
const FORM_BYTES = 1024 * 1024;
const HEADERS = 16 * 1024;

/** Makes a form that has arrived completely. */
function posted(body: Buffer): IncomingMessage {
	const headers = { "content-type": "application/x-www-form-urlencoded" };
	return Object.assign(Readable.from([body]), { headers, complete: true }) as unknown as IncomingMessage;
}

const holdNothing = () => ({ moved: () => undefined, release: () => undefined });

async function read(body: Buffer): Promise<Record<string, string> | undefined> {
	try {
		return await readForm(posted(body), holdNothing, FORM_BYTES);
	} catch (error) {
		if (error instanceof AppError) return undefined;
		throw error;
	}
}

/** A form has each field once, with the values of URLSearchParams, and nothing inherited. */
export const form: Target = {
	sources: ["packages/server/src/http/input.ts"],
	max_bytes: FORM_BYTES,
	seeds: ["email=ada%40example.com&password=a+b&form_token=x", "a=%C3%A9&b&c=", "a=1&a=2", "&".repeat(1100)],
	tokens: ["&", "=", "%", "%41", "%ff", "+", "__proto__", "constructor", "form_token", "a=1", "&&"],
	async check(input) {
		const found = await read(input);
		const fields = [...new URLSearchParams(input.toString())];
		const names = new Set(fields.map(([name]) => name));
		if (found === undefined) assert.ok(names.size < fields.length || input.toString().split("&").length > 1024);
		else assert.deepEqual({ ...found }, Object.fromEntries(fields));
	},
	parse: read,
};

const { read: readSession, begin } = cookiesFor("https://svc.example.com");
const name = begin("").split("=", 1).join();

/** A session's cookie counts only when it is there once: a second one, from wherever, takes it away. */
export const sessionCookie: Target = {
	sources: ["packages/server/src/console/cookies.ts"],
	max_bytes: HEADERS,
	seeds: [`${name}=token`, `a=b; ${name}=token; c=d`, `${name}=a; ${name}=b`, `svc-session=plain; x${name}=y`],
	tokens: ["; ", ";", "=", " ", name, `${name}=`, "__Host-", "svc-session", '"', ","],
	check(input) {
		const header = input.toString("latin1");
		const found = readSession(header);
		const also = readSession(`${header}; ${name}=mine`);
		if (found === undefined) assert.ok(also === undefined || also === "mine");
		else {
			assert.ok(header.includes(`${name}=${found}`));
			assert.equal(also, undefined);
		}
		assert.doesNotMatch(found ?? "", /;/);
	},
};
