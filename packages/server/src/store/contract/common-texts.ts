import assert from "node:assert/strict";
import { test } from "node:test";
import { countEvents } from "../../testing/events.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about texts that servers have in common. */
export async function commonTextContract(openStore: OpenStore): Promise<void> {
	test("the first text of a name is kept until it is dropped, also after a restart", async (t) => {
		const { store, reopen } = await openStore(t);
		assert.deepEqual(
			[await store.common.text("setup_code"), await store.common.drop("setup_code")],
			[undefined, false],
		);
		assert.equal(await store.common.keep("setup_code", "one"), "one");
		assert.equal(await store.common.keep("setup_code", "other"), "one");
		assert.equal(await store.common.keep("certificate", "third"), "third");
		await store.close();
		const { store: again } = await reopen();
		assert.equal(await again.common.text("setup_code"), "one");
		assert.equal(await again.common.drop("setup_code"), true);
		assert.deepEqual(
			[await again.common.text("setup_code"), await again.common.text("certificate")],
			[undefined, "third"],
		);
		assert.equal(await countEvents(again), 0);
		assert.deepEqual(await again.checkIntegrity(), { access: [], content: [] });
	});
}
