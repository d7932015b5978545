import assert from "node:assert/strict";
import { test } from "node:test";
import { type Fields, parseDescriptor } from "@svc/protocol";
import { capabilityFor } from "./authorize.ts";
import { descriptorOf } from "./host/testing.ts";

const ENGINE = parseDescriptor(
	descriptorOf("store", {
		capabilities: ["engine:dynamic_credentials"],
		default_roles: ["readonly", "readwrite", "admin"].map((name) => ({ name, config: {} })),
	}),
);

test("a role needs what it says, or what the configuration says, and an undeclared one of a third party all there is", () => {
	const [ours, foreign] = [true, false].map((is_built_in) => ({ descriptor: ENGINE, is_built_in }));
	const without = { descriptor: { ...ENGINE, default_roles: [] }, is_built_in: false };
	const table: [typeof ours, role: string | undefined, fields: Fields, capability: string][] = [
		[ours, "readonly", {}, "secrets:read"],
		[ours, "readwrite", {}, "secrets:write"],
		[ours, "admin", {}, "realms:manage"],
		[ours, "unknown", {}, "secrets:read"],
		[ours, "readonly", { role_capabilities: { readonly: "realms:manage" } }, "realms:manage"],
		[foreign, "unknown", {}, "realms:manage"],
		[foreign, "constructor", {}, "realms:manage"],
		[foreign, undefined, {}, "secrets:read"],
		[without, "unknown", {}, "secrets:write"],
	];
	for (const [entry = without, role, fields, capability] of table)
		assert.equal(capabilityFor(entry, fields, role), capability, `${role}`);
});
