/* Keyrings of two servers that share one database of a real PostgreSQL. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { openKeyring } from "../../crypto/keyring.ts";
import { MasterKeyReplaced } from "../../crypto/keyring-model.ts";
import { rotateDataKey, rotateMasterKey, UNREADY } from "../../crypto/rotation.ts";
import { importMaster, masterFingerprint, newKeyRow } from "../../crypto/wrap.ts";
import { isChainIntact } from "../../testing/events.ts";
import { aBinding, anEvent, MADE_AT, newId, reportNoKeys } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { createTestSystem } from "../../testing/system.ts";
import type { Store } from "../store.ts";
import { openPostgresTestPair } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

const NEXT = Buffer.alloc(32, 2);

const open = ({ keys, guard, alone }: Store) =>
	openKeyring({
		...{ keys, guard, alone, findMaster: async () => Buffer.from(NEXT) },
		...{ master: Buffer.alloc(32, 1), system: createTestSystem() },
	});

/** Opens two stores on a new database, and starts their keyrings at the same time. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const { here, there, runSql } = await openPostgresTestPair(t, await server, false);
	const [ring, other] = await Promise.all([open(here), open(there)]);
	return { here, there, ring, other, runSql };
}

test("two servers that start at the same time on an empty database have the same keys", options, async (t) => {
	for (let turn = 0; turn < 2; turn++) {
		const { here, there, ring, other } = await setUp(t);
		assert.deepEqual(other.rows(), ring.rows());
		assert.deepEqual([...other.session().byId.keys()], [...ring.session().byId.keys()]);
		const realm = await addRealm(here, await addAccount(here));
		const member = await addAccount(there);
		await there.policy.bind(aBinding(realm.id, member.id), anEvent());
		for (const store of [here, there]) {
			assert.notEqual((await store.realms.access(realm.slug, member.id))?.role, null);
			assert.deepEqual(await store.health.alterations(), []);
			assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
			assert.ok(await isChainIntact(store));
		}
	}
});

test(
	"a server goes on with the keys that another has made, at its next change, question and look",
	options,
	async (t) => {
		const { here, there, ring, other } = await setUp(t);
		for (const [store, keyring] of [
			[here, ring],
			[there, other],
		] as const)
			store.readKeysWith(() => keyring.follow());
		const [one, next] = [await addAccount(here), await addAccount(here)];
		const realm = await addRealm(here, one, { keyring: ring });
		await rotateDataKey({ keys: here.keys, keyring: ring }, "rows", "", anEvent());
		await here.policy.bind(aBinding(realm.id, next.id), anEvent());
		assert.notDeepEqual(other.rows(), ring.rows());
		assert.notEqual((await there.realms.access(realm.slug, next.id))?.role, null);
		assert.deepEqual(other.rows(), ring.rows());
		await rotateDataKey({ keys: there.keys, keyring: other }, "session", "", anEvent());
		await here.audit.append(anEvent());
		assert.equal(ring.session().active.id, other.session().active.id);
		await rotateDataKey({ keys: here.keys, keyring: ring }, "cursor", "", anEvent());
		await there.keepUp?.();
		assert.deepEqual(other.cursorKey(), ring.cursorKey());
		const known = await other.record(realm.id);
		await rotateDataKey({ keys: here.keys, keyring: ring }, "record", realm.id, anEvent());
		await there.keepUp?.();
		const replaced = await other.record(realm.id);
		assert.notDeepEqual(replaced.id, known.id);
		assert.deepEqual(replaced.id, (await ring.record(realm.id)).id);
		for (const store of [here, there]) {
			assert.deepEqual(await store.health.alterations(), []);
			assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
		}
	},
);

test("the master key waits for each active server, and no key stays under the one before", options, async (t) => {
	const { here, there, ring, other, runSql } = await setUp(t);
	const node = (name: string) => ({ id: newId(), name, version: "0.1.0", address: "https://n", started_at: MADE_AT });
	await here.join(node("here"), reportNoKeys);
	await there.join(node("there"), reportNoKeys);
	const needs = { keys: here.keys, keyring: ring, home: undefined, system: createTestSystem() };
	const rotate = () => rotateMasterKey(needs, Buffer.from(NEXT), anEvent());
	await assert.rejects(rotate(), { code: "conflict", message: UNREADY });
	const report = (key: string) => runSql(`UPDATE svc.node SET next_master_key = '${key}' WHERE name = 'there'`);
	await assert.rejects(
		there.keys.rotate({ key: newKeyRow(importMaster(NEXT), "session", "", createTestSystem()) }, anEvent()),
		MasterKeyReplaced,
	);
	for (;;) {
		await report(masterFingerprint(NEXT));
		if ((await rotate().catch(({ message }) => message)) !== UNREADY) break;
	}
	const realm = await addRealm(there, await addAccount(there), { keyring: other });
	for (const keyring of [ring, other]) {
		assert.equal(keyring.fingerprint, masterFingerprint(NEXT));
		assert.ok(await keyring.record(realm.id));
	}
});
