import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { AppError } from "../../../packages/server/src/errors.ts";
import { parseQuery } from "../../../packages/server/src/http/input.ts";
import { createSourceReader } from "../../../packages/server/src/source.ts";
import { createFlows } from "../../../packages/server/src/sso/flows.ts";
import { createSessionKeys } from "../../../packages/server/src/testing/session-keys.ts";
import { createTestSystem } from "../../../packages/server/src/testing/system.ts";
import { accepted, type Target } from "../target.ts";

/** Limit for all headers together, in bytes. */
const HEADERS = 16 * 1024;

/** A query splits as with URLSearchParams, or has a name twice. */
export const query: Target = {
	sources: ["packages/server/src/http/input.ts"],
	max_bytes: HEADERS,
	seeds: ["env=prod&limit=25", "a=%C3%A9+b&c", "=&&x=="],
	tokens: ["&", "=", "%", "%41", "%C3%A9", "%ff", "+", "?", "__proto__", "env"],
	check(input) {
		const text = input.toString().replace(/^\?+/, "");
		const found = accepted(AppError, () => parseQuery(`/path?${text}`));
		// URLSearchParams replaces invalid UTF-8 and keeps invalid percent-encoding; we keep both.
		if (found === undefined || /%(?![\da-f]{2})|%[89a-f]/i.test(text) || !text.isWellFormed()) return;
		assert.deepEqual({ ...found }, { ...Object.fromEntries(new URLSearchParams(text)) });
	},
};

const PROXY = "10.0.0.1";
const sourceOf = createSourceReader([PROXY, "10.0.0.2"]);

function sourceBehind(peer: string, header: string): string {
	const incoming = { socket: { remoteAddress: peer }, headers: { "x-forwarded-for": header } };
	return sourceOf(incoming as unknown as IncomingMessage);
}

/** The source of a request is an address; only a trusted proxy can set it, and addresses left of it have no effect. */
export const forwarded: Target = {
	sources: ["packages/server/src/source.ts"],
	max_bytes: HEADERS,
	seeds: ["192.0.2.1, 10.0.0.2", "[2001:db8::1]:443, 10.0.0.1", "unknown, 192.0.2.1:8080", "::ffff:192.0.2.1"],
	tokens: [",", ", ", "10.0.0.1", "192.0.2.1", "::ffff:", "[", "]", ":80", "2001:db8::1", "unknown"],
	check(input) {
		const header = input.toString("latin1");
		assert.equal(sourceBehind("198.51.100.7", header), "198.51.100.7");
		const source = sourceBehind(PROXY, header);
		assert.notEqual(isIP(source), 0);
		assert.equal(sourceBehind(PROXY, `203.0.113.9, ${header}, 192.0.2.77`), "192.0.2.77");
	},
};

const flows = createFlows(createTestSystem(), createSessionKeys(), () => true);
const provider = { name: "corp", id: "1" };
const begun = flows.begin(provider, null);
const cookie = begun.cookie.slice(0, begun.cookie.indexOf(";"));

/** A browser can only bring back a login that this server began, for this provider. */
export const cookies: Target = {
	sources: [
		"packages/server/src/sso/flows.ts",
		"packages/server/src/crypto/seal.ts",
		"packages/server/src/crypto/xaes.ts",
	],
	max_bytes: HEADERS,
	seeds: [cookie, `a=b; ${cookie}; c=d`, "__Host-svc_sso_1=; x"],
	tokens: ["; ", ";", "=", "__Host-svc_sso_", cookie.slice(0, 40), cookie.slice(40)],
	check(input) {
		for (const flow of flows.open(input.toString("latin1"), provider)) assert.deepEqual(flow, begun.flow);
		assert.deepEqual(flows.open(input.toString("latin1"), { name: "other", id: "1" }), []);
	},
};
