import assert from "node:assert/strict";
import { test } from "node:test";
import { aDeletion, anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";
import { areRealmsCounted, countRealms } from "./realm-counts.ts";

for (const set of ["bytes = 0", "bytes = 9223372036854775807", "keys = 0", "keys = keys + 1"]) {
	test(`a count of a realm that another program wrote is noticed, and an adoption counts again: ${set}`, async (t) => {
		const { store, file } = await openTestStore(t);
		const { id: realm_id } = await addRealm(store, await addAccount(store));
		for (const size of [10, 100_000])
			await store.secrets.set(aVersion(realm_id, "KEY", { value: Buffer.alloc(size) }), anEvent({ realm_id }));
		const name = { realm_id, environment: "dev", key: "KEY" } as const;
		assert.equal(await store.secrets.remove({ ...aDeletion(), ...name }, anEvent({ realm_id })), true);
		await store.secrets.set(aVersion(realm_id, "OTHER"), anEvent({ realm_id }));
		assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
		const otherWriter = openWriter(file);
		t.after(() => otherWriter.close());
		const counts = otherWriter.prepare("SELECT bytes, keys FROM realm");
		const honestly = counts.get();
		otherWriter.exec(`UPDATE realm SET ${set}`);
		assert.deepEqual(await store.checkIntegrity(), { access: [], content: ["the counts of realms"] });
		countRealms(otherWriter);
		assert.deepEqual([areRealmsCounted(otherWriter), counts.get()], [true, honestly]);
		assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
	});
}
