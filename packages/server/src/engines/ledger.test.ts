import assert from "node:assert/strict";
import { test } from "node:test";
import { limitOf, realmLimitOf } from "./ledger.ts";

const CASES: [realm_id: string, fields: object, limit: number | null, realm_limit: number | undefined][] = [
	["", {}, null, 1000],
	["r", {}, 1000, undefined],
	["", { max_connections: 50 }, 50, undefined],
	["r", { max_connections: 5000 }, 5000, undefined],
	["", { max_connections_per_realm: 5 }, null, 5],
	["", { max_connections: 50, max_connections_per_realm: 5 }, 50, 5],
	["r", { max_connections_per_realm: 5 }, 1000, undefined],
];

for (const [realm_id, fields, limit, realm_limit] of CASES) {
	test(`under a configuration ${realm_id === "" ? "of all realms" : "of one realm"} with ${JSON.stringify(fields)} open credentials are bounded`, () => {
		const engine = { config: { id: "", realm_id, fields } } as unknown as Parameters<typeof limitOf>[0];
		assert.deepEqual([limitOf(engine), realmLimitOf(engine)], [limit, realm_limit]);
	});
}
