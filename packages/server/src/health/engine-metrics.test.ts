import assert from "node:assert/strict";
import { test } from "node:test";
import { addEngineMetrics } from "./engine-metrics.ts";
import { prometheus } from "./prometheus.ts";

test("a count of leases that the store does not name any more is 0, and no series ends", async () => {
	const registry = new prometheus.Registry();
	let counts = [{ engine: "keyvalue", state: "active" as const, count: 2 }];
	addEngineMetrics(
		{
			store: { leases: { counts: () => counts, nextDue: () => undefined } },
			host: { state: () => [] },
			clock: { now: () => 0, lastJump: () => undefined },
			pause: { isPaused: () => false },
			reaper: { targets: () => [], lateness: () => ({ overdue: 0, stuck: 0, oldest_ms: 0 }) },
			sweeper: { orphans: () => 0 },
			watchLag: () => undefined,
		},
		[registry],
	);
	const leases = async () => (await registry.metrics()).split("\n").filter((line) => line.startsWith("svc_leases{"));
	assert.deepEqual(await leases(), ['svc_leases{engine="keyvalue",state="active"} 2']);
	counts = [];
	assert.deepEqual(await leases(), ['svc_leases{engine="keyvalue",state="active"} 0']);
});
