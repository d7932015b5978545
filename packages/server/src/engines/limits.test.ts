import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fields } from "@svc/protocol";
import type { OpenCount } from "../leases/model.ts";
import { limitsOf } from "./config/fields.ts";
import { leaseLimits } from "./limits.ts";
import type { ReadyEngine } from "./runtime.ts";

const CASES: [realm_id: string, fields: Fields, together: number | null, each_realm: number | undefined][] = [
	["", {}, null, 1000],
	["r", {}, 1000, undefined],
	["", { max_connections: 50 }, 50, undefined],
	["r", { max_connections: 5000 }, 5000, undefined],
	["", { max_connections_per_realm: 5 }, null, 5],
	["", { max_connections: 50, max_connections_per_realm: 5 }, 50, 5],
	["r", { max_connections_per_realm: 5 }, 1000, undefined],
];

for (const [realm_id, fields, together, each_realm] of CASES) {
	test(`under a configuration ${realm_id === "" ? "of all realms" : "of one realm"} with ${JSON.stringify(fields)} open credentials are bounded`, () => {
		assert.deepEqual(limitsOf({ realm_id, fields }), { together, each_realm });
	});
}

function engineOf(realm_id: string, fields: Fields): ReadyEngine {
	const config = { id: "", realm_id, fields };
	return { entry: { type: "store" }, config, limits: limitsOf(config) } as unknown as ReadyEngine;
}

const count = (realm_id: string, open: number): OpenCount => ({ engine: "store", realm_id, open });

/** Makes the two limits of configurations, given active ones first, over these counts. */
function limitsOver(kept: ReadyEngine[], byConfig: OpenCount[], byRealm: OpenCount[]) {
	return leaseLimits({
		store: {
			leases: { openByConfig: async () => byConfig, openByRealm: async () => byRealm },
			realms: { named: async () => [{ id: "r1", slug: "web" }] },
		},
		runtime: { kept: async () => kept },
		refusals: (name) => (name === "max_connections" ? 3 : 0),
	});
}

test("open credentials count towards the active configuration's limits, and realms are named", async () => {
	const active = [engineOf("", { max_connections: 50, max_connections_per_realm: 10 }), engineOf("r1", {})];
	const retired = [engineOf("", { max_connections: 1 })];
	const limits = limitsOver(
		[...active, ...retired],
		[count("", 20), count("r1", 900)],
		[count("r1", 9), count("r2", 1)],
	);
	const [all, each] = limits;
	assert.deepEqual(await all?.nearest?.(), [
		{ name: "store", used: 20, max: 50 },
		{ name: "store in realm web", used: 900, max: 1000 },
	]);
	assert.deepEqual(await each?.nearest?.(), [
		{ name: "store in realm web", used: 9, max: 10 },
		{ name: "store in realm r2", used: 1, max: 10 },
	]);
	assert.deepEqual([await all?.used(), await each?.used(), all?.refused?.(), each?.refused?.()], [900, 900, 3, 0]);
});

test("leases without a configuration, or without such a limit, are near to none", async () => {
	const [all, each] = limitsOver([engineOf("", { max_connections: 5 })], [count("r1", 7)], [count("r1", 4)]);
	assert.deepEqual([await all?.nearest?.(), await each?.nearest?.()], [[], []]);
	assert.equal(await all?.used(), 0);
});
