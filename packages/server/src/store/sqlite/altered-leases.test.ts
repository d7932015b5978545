import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { aLease, anEvent } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";

/** Changes that would keep a credential from being revoked in time. */
const FORGERIES: Record<string, string> = {
	"is due in a thousand years": "due_at = 33000000000000",
	"was revoked": "state = 'revoked', due_at = NULL, closed_at = '2030'",
	"was given up": "state = 'abandoned', due_at = NULL, closed_at = '2030'",
	"is at another target": "target = 'elsewhere'",
	"has no MAC": "mac = NULL",
};

for (const [what, set] of Object.entries(FORGERIES)) {
	test(`a lease that ${what}, as another program wrote, is due immediately, and no other`, async (t) => {
		const { store, file } = await openTestStore(t);
		const { leases } = store;
		const { id: realm_id } = await addRealm(store, await addAccount(store));
		const [forged, sound] = ["forged", "sound"].map((name) => aLease(realm_id, { name, due_at: 5000 }));
		for (const lease of [forged, sound]) await leases.begin(lease ?? assert.fail(), null, anEvent());
		assert.equal(await leases.distrust({ due_at: 7 }), 0);
		const otherWriter = openWriter(file);
		otherWriter.exec(`UPDATE lease SET ${set} WHERE name = 'forged'`);
		otherWriter.close();
		await nextTurn();
		assert.equal(await leases.distrust({ due_at: 7 }), 1);
		const seen = async (lease: typeof forged) => {
			const { state, due_at, closed_at } = (await leases.byId(lease?.id ?? "")) ?? assert.fail();
			return { state, due_at, closed_at };
		};
		assert.deepEqual(await seen(forged), { state: "revoking", due_at: 7, closed_at: null });
		assert.deepEqual(await seen(sound), { state: "intent", due_at: 5000, closed_at: null });
		assert.deepEqual((await store.checkIntegrity()).content, ["the sum of content rows", "rows of lease"]);
	});
}

test("a pause of leases, and a clock, that another program wrote are not believed", async (t) => {
	const { store, file } = await openTestStore(t);
	const mark = { lease_ms: 1000, uptime_ms: 1, boot_id: "boot" };
	await store.leases.saveClock(mark);
	assert.deepEqual(await store.leases.clock(), mark);
	const otherWriter = openWriter(file);
	otherWriter.exec(
		"INSERT INTO meta (name, value) VALUES ('leases_paused', '2030'); UPDATE meta SET value = '{}' WHERE name = 'lease_clock'",
	);
	otherWriter.close();
	await nextTurn();
	assert.deepEqual([await store.leases.pausedAt(), await store.leases.clock()], [undefined, undefined]);
});

for (const count of ["0", "9223372036854775807"]) {
	test(`a count of leases that another program set to ${count} keeps none from being made or revoked`, async (t) => {
		const { store, file } = await openTestStore(t);
		const { leases } = store;
		const { id: realm_id } = await addRealm(store, await addAccount(store));
		const make = async () => {
			const lease = aLease(realm_id);
			assert.equal(await leases.begin(lease, null, anEvent()), "done");
			const { id, expires_at } = lease;
			assert.equal(await leases.activate({ id, name: id, expires_at, payload: null, due_at: 5000 }, anEvent()), "done");
			return id;
		};
		const made = await make();
		const otherWriter = openWriter(file);
		otherWriter.exec(`INSERT INTO lease_count SELECT engine, config_realm_id, 'revoking', 1 FROM lease_count WHERE state = 'active';
			UPDATE lease_count SET count = ${count}`);
		otherWriter.close();
		await nextTurn();
		assert.deepEqual((await store.checkIntegrity()).content, ["the counts of leases"]);
		for (const id of [made, await make()])
			assert.equal(await leases.revoke({ id, reason: "requested", due_at: 7 }, anEvent()), "active");
	});
}
