import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents } from "../../testing/events.ts";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about alterations of the database. */
export async function healthContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });

	test("a database that only the server changed has no alterations", async () => {
		await store.health.probe(MADE_AT);
		assert.deepEqual(await store.health.alterations(), []);
	});

	test("an accepted loss is in the log, each time", async () => {
		const before = await countEvents(store);
		await store.health.acceptLoss(MADE_AT, anEvent());
		await store.health.acceptLoss(MADE_AT, anEvent());
		assert.equal(await countEvents(store), before + 2);
		assert.deepEqual(await store.health.alterations(), []);
	});
}
