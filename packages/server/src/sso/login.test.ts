import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { anActor } from "../testing/actor.ts";
import { createTestSystem } from "../testing/system.ts";
import { createCodes, type LoginNeeds, linkByCode } from "./login.ts";
import type { Provider } from "./providers.ts";

test("a code is good for its minute, however often it is looked at", async () => {
	const system = createTestSystem();
	const codes = createCodes();
	const store = {
		sso: { provider: async () => ({ id: "settings-1" }) },
		audit: { append: async () => undefined },
	};
	const needs = {
		codes,
		system,
		store,
		throttle: { checkRefusals: async () => undefined, refused: () => undefined },
	} as unknown as LoginNeeds;
	const verifier = "v".repeat(43);
	const provider = { id: "settings-1", name: "corp" } as Provider;
	const asserted = { issuer: "https://id.example.com", subject: "ada", email_verified: true, groups: [] };
	codes.set("code", {
		...{ provider, asserted: { ...asserted, email: "ada@example.com", name: undefined } },
		...{ challenge: hash("sha256", verifier, "base64url"), until_ms: system.now().getTime() + 60_000 },
	});
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
