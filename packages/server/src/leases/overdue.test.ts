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
	overdue.watch(id, "target", 0, { ...event, data: { lease_id: id } });
	await overdue.check();
	const first = looks;
	for (let wake = 0; wake < 10; wake++) await overdue.check();
	assert.equal(looks, first);
	system.advance(1000);
	await overdue.check();
	assert.ok(looks > first);
});

test("a lease that failed and waits for its target counts once", async (t) => {
	const { needs, system } = await openReaper(t);
	const overdue = createOverdue(needs);
	const event = { type: "lease.revoke_failed", actor: "system", realm_id: "", realm: "" } as const;
	const since_ms = needs.clock.now();
	overdue.watch("lease", "kv", since_ms, { ...event, data: { lease_id: "lease" } });
	overdue.watch("kv", "kv", since_ms, { ...event, data: { target: "kv" } });
	overdue.watch("db", "db", since_ms, { ...event, data: { target: "db" } });
	system.advance(120_000);
	await needs.clock.tick();
	assert.equal(overdue.lateness().overdue, 2);
});
