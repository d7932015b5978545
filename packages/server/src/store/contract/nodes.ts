import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { MADE_AT, newId } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the servers that use the store. */
export async function nodeContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });

	test("a server that joined is listed with a sign of life", async () => {
		assert.deepEqual(await store.nodes(), []);
		const node = { id: newId(), name: "db-1", version: "0.1.0", address: "https://db-1", started_at: MADE_AT };
		let keys = { master_key: "a", next_master_key: "" };
		await store.join(node, async () => keys);
		const [found, ...others] = await store.nodes();
		assert.partialDeepStrictEqual(found, { ...node, ...keys, status: "active" });
		assert.ok(Date.now() - Date.parse(found?.seen_at ?? "") < 60_000);
		assert.deepEqual(others, []);
		keys = { master_key: "b", next_master_key: "c" };
		while ((await store.nodes())[0]?.next_master_key !== "c") await pause(20);
		assert.partialDeepStrictEqual(await store.nodes(), [keys]);
	});
}
