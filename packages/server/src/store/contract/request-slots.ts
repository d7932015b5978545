import assert from "node:assert/strict";
import { after, test } from "node:test";
import { withSlot } from "../../request-slot.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the slots of requests that wait for the store. */
export async function requestSlotContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });

	/** Counts how often a request gives back its slot while it asks. */
	async function releasesOf(ask: () => unknown): Promise<number> {
		let releases = 0;
		const slot = { release: () => releases++, reacquire: async () => undefined, onOver: () => () => undefined };
		await withSlot(slot, async () => ask(), undefined);
		return releases;
	}

	test("a request keeps its slot while it reads, so that no more requests read than are handled at a time", async () => {
		const all = Array.from({ length: 8 }, () => releasesOf(() => store.accounts.count()));
		assert.deepEqual(await Promise.all(all), Array(8).fill(0));
	});

	test("a request gives back its slot while it scans, which may take long", async () => {
		assert.ok((await releasesOf(() => store.audit.latest())) > 0);
	});
}
