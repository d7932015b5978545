import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { anActor } from "../testing/actor.ts";
import { createTestSystem } from "../testing/system.ts";
import { createCodes } from "./codes.ts";
import { type LoginNeeds, linkByCode, redeemCode } from "./login.ts";
import type { Provider } from "./providers.ts";

const verifier = "v".repeat(43);

/** A login that Ada's browser has ended at a provider that makes no accounts. */
function prepare() {
	const system = createTestSystem();
	const codes = createCodes();
	const store = {
		sso: { provider: async () => ({ id: "settings-1" }), owner: async () => undefined },
		accounts: { byEmail: async () => undefined },
		audit: { append: async () => undefined },
	};
	const needs = {
		codes,
		system,
		store,
		throttle: { checkRefusals: async () => undefined, refused: () => undefined },
	} as unknown as LoginNeeds;
	const settings = { auto_provision: false, allowed_domains: [], trusted_email_domains: [], role_mappings: [] };
	const provider = { id: "settings-1", name: "corp", is: { type: "oidc", settings } } as unknown as Provider;
	const asserted = { issuer: "https://id.example.com", subject: "ada", email_verified: true, groups: [] };
	codes.set("code", {
		...{ provider, asserted: { ...asserted, email: "ada@example.com", name: undefined } },
		waiting: { address: "/console/sign-in/sso", challenge: hash("sha256", verifier, "base64url") },
		until_ms: system.now().getTime() + 60_000,
	});
	return { needs, system };
}

test("a code is valid for its minute, however often it is looked at", async () => {
	const { needs, system } = prepare();
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
	const { needs, system } = prepare();
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
