import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createBulkReads } from "../audit/bulk-reads.ts";
import { noteBy } from "../audit/model.ts";
import { makeToken } from "../crypto/api-token.ts";
import { createSessionTokens } from "../crypto/session.ts";
import { createIdentify } from "../policy/authenticate.ts";
import { syncSecrets } from "../secrets/lists.ts";
import { createWholeReads } from "../secrets/snapshot.ts";
import { aBinding, aMachine, aMachineToken, anEvent } from "../testing/rows.ts";
import { addAccount, addBinding, addRealm, openTestRules } from "../testing/rules.ts";

const rules = await openTestRules({ after });
const { system, keyring } = rules;
/** Realms that the store was asked to read as a whole: it holds each question until the test lets it go. */
const asked: string[] = [];
const held: (() => void)[] = [];
const { secrets } = rules.store;
const currentVersions: typeof secrets.currentVersions = async (realm_id, ...more) => {
	asked.push(realm_id);
	await new Promise<void>((resolve) => held.push(resolve));
	return secrets.currentVersions(realm_id, ...more);
};
const store = { ...rules.store, secrets: { ...secrets, currentVersions } };
const semaphore = createWholeReads();
let arrived = 0;
const run: typeof semaphore.run = (task, caller) => {
	arrived++;
	return semaphore.run(task, caller);
};
const whole_reads = { ...semaphore, run };
const needs = {
	...{ ...rules, store, whole_reads, bulk_reads: createBulkReads(store.audit) },
	...{ enforce_expiry: false, realm_bytes: 1024 ** 3 },
};
const sessions = createSessionTokens(() => keyring.session(), system);
const identify = createIdentify({ store, system, sessions, noted: new Map<string, number>() });

/** Makes a realm with a machine, and lets the machine in. Both are made by the same account. */
async function machineOf(maker: { id: string }) {
	const realm = await addRealm(store, maker, { keyring });
	const machine = aMachine(realm.id, { created_by: maker.id });
	await store.machines.set(machine, anEvent());
	const { token, digest } = makeToken(system.randomBytes);
	await store.machines.addToken(aMachineToken(machine.id, { digest }), anEvent());
	const enter = () => identify(`Bearer ${token}`, "request", "192.0.2.1", { forMachines: true });
	return { realm, enter, actor: await enter() };
}

const [ada, bob] = [await addAccount(store), await addAccount(store)];
const machines = [await machineOf(ada), await machineOf(ada), await machineOf(bob)] as const;

test("machines of one maker share one bound, and another maker's is untouched", async () => {
	const [first, second, other] = machines;
	const reads = machines.map(({ realm, actor }) => syncSecrets(needs, actor, realm.slug, "prod"));
	for (let turn = 0; turn < 1000 && asked.length + Number(whole_reads.limit.used()) < 3; turn++) await nextTurn();
	assert.deepEqual(asked, [first.realm.id, other.realm.id]);
	for (const release of held.splice(0)) release();
	while (asked.length < 3) await nextTurn();
	assert.equal(asked[2], second.realm.id);
	held[0]?.();
	await Promise.all(reads);
});

test("a flooding machine does not starve its maker's machines in other realms", async () => {
	const [first, second] = machines;
	arrived = 0;
	const flood = Array.from({ length: 300 }, () => syncSecrets(needs, first.actor, first.realm.slug, "prod"));
	const settled = Promise.allSettled(flood);
	const untilArrived = async (count: number) => {
		for (let turn = 0; turn < 1000 && arrived < count; turn++) await nextTurn();
		assert.equal(arrived, count);
	};
	await untilArrived(300);
	const read = syncSecrets(needs, second.actor, second.realm.slug, "prod");
	await untilArrived(301);
	asked.splice(0);
	let isOver = false;
	void Promise.allSettled([read, ...flood]).then(() => {
		isOver = true;
	});
	while (!isOver) {
		for (const release of held.splice(0)) release();
		await nextTurn();
	}
	await read;
	assert.equal(asked.indexOf(second.realm.id), 1, "the next but one");
	assert.equal((await settled).filter(({ status }) => status === "rejected").length, 300 - 129);
});

test("what a machine causes while the disk is low on space counts toward its maker", () => {
	for (const { actor, realm } of machines.slice(0, 2)) {
		const { cause } = noteBy(actor, system.now(), "secret.read", undefined, {});
		assert.deepEqual(cause, [ada.id, `${ada.id} ${realm.id}`, actor.user_id]);
	}
});

test("machines of a realm that an account is given do not delay its own, even after their maker has left", async () => {
	const [maker, heir] = [await addAccount(store), await addAccount(store)];
	const { realm, enter } = await machineOf(maker);
	const own = await machineOf(heir);
	await addBinding(store, realm, heir, "admin");
	const { id, name, description } = realm;
	const kept = aBinding(id, maker.id, { role: "admin" });
	const change = { id, name, description, user_id: heir.id, by_owner: maker.id, kept, realms_per_account: 250 };
	assert.equal(await store.realms.change(change, anEvent({ type: "realm.updated", realm_id: id })), "done");
	const leave = () => store.policy.unbind({ realm_id: id, user_id: maker.id }, anEvent());
	for (const end of [async () => true, leave]) {
		assert.equal(await end(), true);
		asked.splice(0);
		const theirs = syncSecrets(needs, await enter(), realm.slug, "prod");
		const mine = syncSecrets(needs, own.actor, own.realm.slug, "prod");
		for (let turn = 0; turn < 1000 && asked.length < 2; turn++) await nextTurn();
		assert.deepEqual(new Set(asked), new Set([id, own.realm.id]), "at the same time");
		for (const release of held.splice(0)) release();
		await Promise.all([theirs, mine]);
	}
});
