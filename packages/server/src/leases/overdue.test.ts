import assert from "node:assert/strict";
import { test } from "node:test";
import { createOverdue } from "./overdue.ts";
import { openReaper } from "./testing.ts";

test("late leases are looked up once a second, however often they are asked for", async (t) => {
	const { add, needs, store, system } = await openReaper(t);
	const { id } = await add("revoking");
	let looks = 0;
	const byId: typeof store.leases.byId = (asked) => {
		looks++;
		return store.leases.byId(asked);
	};
	const overdue = createOverdue({ ...needs, store: { ...store, leases: { byId } } });
	const event = { type: "lease.revoke_failed", actor: "system", realm_id: "", realm: "" } as const;
	overdue.watch(id, 0, { ...event, data: { lease_id: id } });
	await overdue.check();
	const first = looks;
	for (let wake = 0; wake < 10; wake++) await overdue.check();
	assert.equal(looks, first);
	system.advance(1000);
	await overdue.check();
	assert.ok(looks > first);
});
