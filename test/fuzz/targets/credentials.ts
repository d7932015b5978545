import assert from "node:assert/strict";
import { makeToken } from "../../../packages/server/src/crypto/api-token.ts";
import { dataKey, openPortable, sealPortable } from "../../../packages/server/src/crypto/seal.ts";
import { createSessionTokens } from "../../../packages/server/src/crypto/session.ts";
import { AppError } from "../../../packages/server/src/errors.ts";
import { check } from "../../../packages/server/src/http/input.ts";
import { readPage } from "../../../packages/server/src/pagination.ts";
import { createIdentify, type IdentityNeeds } from "../../../packages/server/src/policy/authenticate.ts";
import { SetSecret } from "../../../packages/server/src/secrets/model.ts";
import { createTestSystem } from "../../../packages/server/src/testing/system.ts";
import { accepted, type Target } from "../target.ts";

const HEADERS = 16 * 1024;
const system = { ...createTestSystem(), randomBytes: (size: number) => Buffer.alloc(size, 0x5a) };
const macKey = { id: "00", bytes: Buffer.alloc(32, 1), retired_at: undefined };
const sessions = createSessionTokens(() => ({ active: macKey, byId: new Map([["00", macKey]]) }), system);
const now_s = system.now().getTime() / 1000;
const session = await sessions.sign({ sub: "user", jti: "session", iat: now_s, exp: now_s + 3600 });
const { token, digest } = makeToken(system.randomBytes);

const OWNER = {
	...{ id: "token", user_id: "user", email: "", name: "", instance_admin: false, scopes: "read" },
	...{ realm_id: null, environment: null, engines: null, expires_at: null },
};

const needs = {
	system,
	sessions,
	noted: new Map(),
	store: {
		accounts: { sessionOwner: async (jti: string, user_id: string) => ({ jti, user_id }), noteUse: () => undefined },
		tokens: {
			owner: async (wanted: Buffer) => (wanted.equals(digest) ? OWNER : undefined),
			used: async () => undefined,
		},
	},
} as unknown as IdentityNeeds;

/** Only a token that this server made, to the letter, lets anybody in. */
export const bearer: Target = {
	sources: [
		"packages/server/src/policy/authenticate.ts",
		"packages/server/src/crypto/api-token.ts",
		"packages/server/src/crypto/session.ts",
	],
	max_bytes: HEADERS,
	seeds: [`Bearer ${session}`, `bearer  ${token} `, `Bearer ${token.slice(0, -1)}x`, "Basic YTpi"],
	tokens: ["Bearer ", "svc_", ".", "=", " ", session.split(".", 1).join(), token, "eyJhbGciOiJub25lIn0."],
	async check(input) {
		const header = input.toString("latin1");
		const actor = await createIdentify(needs)(header, "request", "192.0.2.1").catch((error) => {
			if (!(error instanceof AppError && error.code === "unauthorized")) throw error;
		});
		if (actor === undefined) return;
		const given = header.replace(/^bearer +/i, "").replace(/ *$/, "");
		assert.ok(given === session || given === token, "what was let in is no token of ours");
	},
};

const rows = ["a", "b", "c"];
const list = (cursor: string) =>
	readPage(
		macKey.bytes,
		{ limit: 2, cursor },
		{
			list: "rows",
			read: async (after, limit) => rows.filter((row) => row > (after ?? "")).slice(0, limit),
			position: (row) => row,
			count: async () => rows.length,
		},
	);
const cursorOfB = (
	await readPage(
		macKey.bytes,
		{ limit: 2 },
		{
			list: "rows",
			read: async (_after, limit) => rows.slice(0, limit),
			position: (row) => row,
			count: async () => rows.length,
		},
	)
).pagination.next_cursor as string;

/** A cursor is valid when this list gave it, in any base64url spelling, and is refused otherwise. */
export const cursor: Target = {
	sources: ["packages/server/src/pagination.ts"],
	max_bytes: HEADERS,
	seeds: [cursorOfB, "", "AAAA"],
	tokens: ["=", "-", "_", "A", cursorOfB.slice(0, 20), cursorOfB.slice(20)],
	async check(input) {
		const given = input.toString("latin1");
		const page = await list(given).catch((error) => {
			if (!(error instanceof AppError && error.code === "invalid_cursor")) throw error;
		});
		if (page === undefined) return;
		assert.deepEqual(Buffer.from(given, "base64url"), Buffer.from(cursorOfB, "base64url"));
		assert.deepEqual(page.rows, ["c"]);
	},
};

const key = dataKey(Buffer.alloc(8, 7), Buffer.alloc(32, 9));
const sealed = sealPortable(key, "a plain text", system.randomBytes);

/** Portable ciphertext opens only when it is exactly the sealed text. */
export const portable: Target = {
	sources: ["packages/server/src/crypto/seal.ts", "packages/server/src/crypto/xaes.ts"],
	max_bytes: 1024 * 1024,
	seeds: [sealed, sealed.slice(0, 40), "svc:v1:"],
	tokens: ["svc:v1:", "=", "-", "_", sealed.slice(7, 20), sealed.slice(20)],
	check(input) {
		const text = input.toString();
		const opened = openPortable(text, (id) => (id.equals(Buffer.alloc(8, 7)) ? key : undefined));
		assert.equal(opened, text === sealed ? "a plain text" : undefined);
	},
};

/** An accepted key needs no escaping in a path except for its slashes, and cannot walk. */
export const secretKey: Target = {
	sources: ["packages/server/src/secrets/model.ts", "packages/server/src/http/input.ts"],
	max_bytes: 1024 * 1024,
	seeds: ["DATABASE_URL", "a/b/c.d", "../x", "x/./y"],
	tokens: ["/", ".", "..", "/../", "\0", "%2e", "\u00e9", "\u202e"],
	check(input) {
		const given = input.toString();
		const taken = accepted(AppError, () => check(SetSecret, { key: given, value: "v" }));
		if (taken === undefined) return;
		assert.equal(taken.key, given);
		assert.ok(given.length <= 255);
		assert.equal(encodeURIComponent(given).replaceAll("%2F", "/"), given);
		assert.equal(new URL(`https://host/${given}`).pathname.slice(1), given);
	},
};
