/* Work that one of two servers does, which share one database of a real PostgreSQL. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { createCheckpointer } from "../../audit/checkpoints.ts";
import { openKeyring } from "../../crypto/keyring.ts";
import { openLeaseClock } from "../../leases/clock.ts";
import { createSweeper } from "../../leases/sweep.ts";
import { createTestLog } from "../../testing/log.ts";
import { createMemoryKeyStore } from "../../testing/memory-key-store.ts";
import { anEvent, MADE_AT, newId, reportNoKeys } from "../../testing/rows.ts";
import { createTestSystem } from "../../testing/system.ts";
import type { Store } from "../store.ts";
import { openPostgresTestPair } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Opens two stores on a new database, as servers do. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const pair = await openPostgresTestPair(t, await server);
	for (const [name, store] of [["here", pair.here] as const, ["there", pair.there] as const])
		await store.join(
			{ id: newId(), name, version: "0.1.0", address: `https://${name}`, started_at: MADE_AT },
			reportNoKeys,
		);
	return pair;
}

/** Lets the servers ask in turn. */
async function holders(stores: readonly Store[]): Promise<boolean[]> {
	const found = [];
	for (const store of stores) found.push(await store.duties.take("purges"));
	return found;
}

test("one server has a duty, until it leaves", options, async (t) => {
	const { here, there } = await setUp(t);
	for (let turn = 0; turn < 3; turn++) assert.deepEqual(await holders([here, there]), [true, false]);
	assert.equal(await there.duties.take("sweeps"), true);
	assert.equal(await here.duties.take("sweeps"), false);
	await here.close();
	assert.equal(await there.duties.take("purges"), true);
});

test("of two servers that ask at the same time, one gets a duty", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	for (let turn = 0; turn < 20; turn++) {
		const found = await Promise.all([here, there].map((store) => store.duties.take("purges")));
		assert.deepEqual(found.toSorted(), [false, true]);
		await runSql("DELETE FROM svc.duty");
	}
});

test("the duty of a silent server goes to another, and stays there", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	assert.deepEqual(await holders([here, there]), [true, false]);
	// This lasts until its next sign of life.
	do await runSql("UPDATE svc.node SET seen_at = seen_at - interval '11 s' WHERE name = 'here'");
	while (!(await there.duties.take("purges")));
	assert.deepEqual(await holders([here, there]), [false, true]);
});

test("one of two servers signs checkpoints, and the other one when it has left", options, async (t) => {
	const { here, there } = await setUp(t);
	const system = createTestSystem();
	const keyring = await openKeyring({ keys: createMemoryKeyStore(), master: Buffer.alloc(32, 1), system });
	const { log } = createTestLog();
	const signers = [];
	for (const store of [here, there]) signers.push(await createCheckpointer({ store, system, keyring, log }));
	const count = async () => (await there.audit.checkpoints(Number.MIN_SAFE_INTEGER, 10)).length;
	for (const expected of [1, 2]) {
		system.advance(60_000);
		for (const sign of signers) {
			await there.audit.append(anEvent());
			await sign(false);
		}
		assert.equal(await count(), expected);
	}
	await here.close();
	await there.audit.append(anEvent());
	system.advance(60_000);
	await signers[1]?.(false);
	assert.equal(await count(), 3);
});

test("one of two servers looks for what is left at targets", options, async (t) => {
	const { here, there } = await setUp(t);
	const system = createTestSystem();
	const { log } = createTestLog();
	const lists = [0, 0];
	for (const [index, store] of [here, there].entries()) {
		const list = async () => {
			lists[index] = (lists[index] ?? 0) + 1;
			return ["svc_unknown"];
		};
		const sweeper = createSweeper({
			...{ store, system, log, clock: await openLeaseClock({ store, system, log }) },
			...{ reaper: { wake: () => undefined }, pause: { isPaused: () => false } },
			targets: async () => [{ target: "a", scope: "", exclusive: false, list }],
		});
		await sweeper.runOnce();
		assert.equal(sweeper.orphans(), index === 0 ? 1 : 0);
	}
	assert.deepEqual(lists, [1, 0]);
});
