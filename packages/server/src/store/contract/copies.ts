import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { countEvents } from "../../testing/events.ts";
import { addLease } from "../../testing/leases.ts";
import { aConfig, aLease, anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { makeFolder } from "../../testing/store.ts";
import { openSnapshot } from "../sqlite/snapshots.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about copies. */
export async function copyContract(openStore: OpenStore): Promise<void> {
	test("a copy is an intact database with every answered write, and does not block writers", async (t) => {
		const { store } = await openStore(t);
		const realm = await addRealm(store, await addAccount(store));
		const secret = aVersion(realm.id, "k", { value: Buffer.from("sealed") });
		await store.secrets.set(secret, anEvent());
		const config = aConfig();
		await store.engines.setConfig(config, anEvent());
		const lease = await addLease(store, "active", aLease(realm.id, { config_id: config.id }));
		const head = await store.audit.head();
		const file = join(await makeFolder(t), "copy.db");
		writeFileSync(file, "", { mode: 0o600 });
		const later = Array.from({ length: 50 }, () => store.audit.append(anEvent()));
		await store.copyTo(file);
		await Promise.all(later);
		const copy = openSnapshot(file);
		t.after(() => copy.close());
		const { events, schema_problem } = await copy.facts();
		assert.equal(schema_problem, "");
		assert.ok(events >= head.events && events <= (await countEvents(store)), `${events}`);
		assert.deepEqual(await copy.inspect(), []);
		assert.equal((await copy.audit.verify([{ seq: head.events, hash: head.hash }])).status, "intact");
		assert.deepEqual(await copy.keys(), await store.keys.all());
		const { secrets, engine_configs, lease_payloads } = await copy.samples();
		assert.deepEqual([secrets[0]?.id, secrets[0]?.value], [secret.id, secret.value]);
		assert.equal(engine_configs[0]?.id, config.id);
		assert.deepEqual(lease_payloads, [{ id: lease.id, payload: lease.payload }]);
	});

	test("a copy into a missing folder fails and changes nothing", async (t) => {
		const { store } = await openStore(t);
		await assert.rejects(store.copyTo(join(await makeFolder(t), "nowhere", "copy.db")));
		await store.audit.append(anEvent());
		assert.equal((await store.audit.verify([])).events, 1);
	});
}
