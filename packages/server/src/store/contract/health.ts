import assert from "node:assert/strict";
import { after, test } from "node:test";
import { MADE_AT } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about alterations of the database. */
export async function healthContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });

	test("a database that only the server changed has no alterations", async () => {
		await store.health.probe(MADE_AT);
		assert.deepEqual(await store.health.alterations(), []);
	});
}
