import assert from "node:assert/strict";
import { test } from "node:test";
import { aMachine, aMachineToken, anEvent, aTrust, MADE_AT } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { purgeRealms } from "./deletion.ts";
import { PURGE_AFTER_DAYS } from "./model.ts";

test("what a stop of the server left of a deleted realm's tokens and trusts is removed later, and the realm stays", async (t) => {
	const needs = await openTestRules(t);
	const { store, keyring } = needs;
	const owner = await addAccount(store);
	const realm = await addRealm(store, owner, { keyring });
	const machine = aMachine(realm.id);
	await store.machines.set(machine, anEvent());
	await store.machines.addToken(aMachineToken(machine.id), anEvent());
	await store.trusts.set(aTrust(machine.id), anEvent());
	// The server stops before it removes anything of the machines.
	await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
	assert.deepEqual(await store.realms.unended(), [realm.id]);
	assert.equal(await purgeRealms(needs), 0);
	assert.deepEqual(await store.realms.unended(), []);
	assert.deepEqual([await store.machines.countTokens(machine.id), await store.trusts.count(machine.id)], [0, 0]);
	assert.equal(await store.realms.restore({ ...realm, since: "" }, anEvent()), "done");
});

test("all realms that are due are purged, however many: a hundred are read at once", async (t) => {
	const needs = await openTestRules(t);
	const { store, system } = needs;
	const owner = await addAccount(store);
	const made = await Promise.all(Array.from({ length: 101 }, () => addRealm(store, owner)));
	await Promise.all(made.map(({ id }) => store.realms.remove({ id, deleted_at: MADE_AT }, anEvent())));
	const read: number[] = [];
	const realms = {
		...store.realms,
		async deletedBefore(instant: string, limit: number) {
			const due = await store.realms.deletedBefore(instant, limit);
			read.push(due.length);
			return due;
		},
	};
	system.advance((PURGE_AFTER_DAYS + 1) * 24 * 60 * 60 * 1000);
	assert.equal(await purgeRealms({ ...needs, store: { ...store, realms } }), 101);
	assert.deepEqual(read, [1, 100, 1], "first it asks whether there is any");
});
