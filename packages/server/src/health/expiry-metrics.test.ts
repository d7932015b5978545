import assert from "node:assert/strict";
import { test } from "node:test";
import { anEvent, aVersion } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { addExpiryMetrics } from "./expiry-metrics.ts";
import { prometheus } from "./prometheus.ts";

test("expiring secrets are counted once a minute, however often they are asked for", async (t) => {
	const { store, system } = await openTestRules(t);
	const { id } = await addRealm(store, await addAccount(store));
	const set = (key: string, expires_at: string) => store.secrets.set(aVersion(id, key, { expires_at }), anEvent());
	const registry = new prometheus.Registry();
	addExpiryMetrics({ store, system }, [registry]);
	const series = async () =>
		(await registry.metrics()).split("\n").filter((line) => !line.startsWith("#") && line !== "");
	const [past, soon] = [-1, 1].map((days) => new Date(system.now().getTime() + days * 86_400_000).toISOString());
	await set("PAST", past ?? "");
	await set("SOON", soon ?? "");
	// A sum of whole numbers is exact.
	let now_ms = Math.ceil(performance.now());
	t.mock.method(performance, "now", () => now_ms);
	const first = ['svc_secrets_expiring{within="0d"} 1', 'svc_secrets_expiring{within="14d"} 2'];
	assert.deepEqual(await series(), first);
	await set("LATER", soon ?? "");
	now_ms += 59_000;
	assert.deepEqual(await series(), first);
	now_ms += 1000;
	assert.deepEqual(await series(), [first[0], 'svc_secrets_expiring{within="14d"} 3']);
});
