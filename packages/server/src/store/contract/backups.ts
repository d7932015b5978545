import assert from "node:assert/strict";
import { test } from "node:test";
import { countEvents } from "../../testing/events.ts";
import { anAccount, anEvent, MADE_AT } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about restores and the disk. */
export async function backupContract(openStore: OpenStore): Promise<void> {
	test("a store that was not restored reports no restore, and its leases are not paused", async (t) => {
		const { store } = await openStore(t);
		assert.deepEqual([await store.backups.restored(), await store.backups.noteRestored(anEvent())], [undefined, false]);
		assert.deepEqual([await store.leases.pausedAt(), await store.leases.resume(anEvent())], [undefined, false]);
		assert.equal(await countEvents(store), 0);
	});

	test("an era lasts at least until the store is closed", async (t) => {
		const { store, reopen } = await openStore(t);
		const era = await store.backups.era();
		assert.equal(await store.backups.era(), era);
		await store.accounts.register(anAccount(), anEvent());
		assert.equal(await store.backups.era(), era);
		await store.close();
		const { store: again } = await reopen();
		assert.equal(await again.backups.era(), await again.backups.era());
	});

	test("a working store accepts writes, including a trial write", async (t) => {
		const { store } = await openStore(t);
		assert.equal(await store.isWritable(new Date(MADE_AT)), true);
		await store.health.probe(MADE_AT);
		await store.health.probe(MADE_AT);
		assert.equal(await countEvents(store), 0);
		assert.deepEqual(store.eventsOnLowDisk().refused, 0);
	});
}
