import assert from "node:assert/strict";
import { test } from "node:test";
import { anAccount, anEvent } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about what rows grant and the log does not. */
export async function auditComparisonContract(openStore: OpenStore): Promise<void> {
	test("rows that have their events are as the log says, and a row without one is named", async (t) => {
		const { store } = await openStore(t);
		const [ada, eve] = [anAccount(), anAccount()];
		await store.accounts.register(ada, anEvent({ type: "auth.register", data: { user_id: ada.id } }));
		assert.deepEqual((await store.audit.compare()).differences, []);
		await store.accounts.register(eve, anEvent());
		const [difference, ...more] = (await store.audit.compare()).differences;
		assert.deepEqual([difference?.kind, difference?.id, difference?.problem, more], ["account", eve.id, "unknown", []]);
	});
}
