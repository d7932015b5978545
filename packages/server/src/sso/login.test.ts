import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { openKeyring } from "../crypto/keyring.ts";
import { codesInMemory } from "../store/memory/sso-codes.ts";
import { anActor } from "../testing/actor.ts";
import { createMemoryKeyStore } from "../testing/memory-key-store.ts";
import { createTestSystem } from "../testing/system.ts";
import { keepLogin } from "./codes.ts";
import { type LoginNeeds, linkByCode, redeemCode } from "./login.ts";
import { type Provider, sealProvider } from "./providers.ts";

const verifier = "v".repeat(43);

/** A login that Ada's browser has ended at a provider that makes no accounts. */
async function prepare() {
	const system = createTestSystem();
	const keyring = await openKeyring({ keys: createMemoryKeyStore(), master: Buffer.alloc(32, 7), system });
	const settings = { auto_provision: false, allowed_domains: [], trusted_email_domains: [], role_mappings: [] };
	const row = { id: "settings-1", name: "corp", type: "oidc" as const };
	const sealed = await sealProvider({ keyring, system }, row, settings);
	const store = {
		sso: { ...codesInMemory(), provider: async () => ({ ...row, sealed }), owner: async () => undefined },
		accounts: { byEmail: async () => undefined },
		audit: { append: async () => undefined },
	};
	const needs = {
		keyring,
		system,
		store,
		throttle: { checkRefusals: async () => undefined, refused: () => undefined },
	} as unknown as LoginNeeds;
	const provider = { id: "settings-1", name: "corp" } as Provider;
	const asserted = { issuer: "https://id.example.com", subject: "ada", email_verified: true, groups: [] };
	await keepLogin(needs, "code", {
		...{ provider, asserted: { ...asserted, email: "ada@example.com", name: undefined } },
		waiting: { address: "/console/sign-in/sso", challenge: hash("sha256", verifier, "base64url") },
		until_ms: system.now().getTime() + 60_000,
	});
	return { needs, system };
}

test("a code is valid for its minute, however often it is looked at", async () => {
	const { needs, system } = await prepare();
	const look = () =>
		linkByCode(
			needs,
			anActor({ jti: "session" }),
			{ code: "code", verifier },
			{ confirm: false, current_password: undefined },
		);
	for (let looks = 0; looks < 3; looks++) {
		assert.deepEqual(await look(), { provider: "corp", email: "ada@example.com", name: "" });
		system.advance(19_999);
	}
	await look();
	system.advance(3);
	await assert.rejects(look(), { code: "unauthorized" });
});

test("a login that only needs an invitation waits 5 minutes for its code, and no longer for more tries", async () => {
	const { needs, system } = await prepare();
	const visitor = { request_id: "request-1", ip: "127.0.0.1" };
	const enter = () => redeemCode(needs, visitor, { code: "code", verifier, invitation: undefined });
	for (let tries = 0; tries < 3; tries++) {
		await assert.rejects(enter(), { code: "registration_disabled" });
		system.advance(99_999);
	}
	await assert.rejects(enter(), { code: "registration_disabled" });
	system.advance(3);
	await assert.rejects(enter(), { code: "unauthorized" });
});
