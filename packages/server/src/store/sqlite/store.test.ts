import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FatalError } from "../../errors.ts";
import { countEvents, isChainIntact } from "../../testing/events.ts";
import { anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { makeFolder, openTestStore } from "../../testing/store.ts";
import { lockDataDirectory } from "./files.ts";

test("a store that is opened again has everything, and its chain continues where it ended", async (t) => {
	const { store, directory } = await openTestStore(t);
	const owner = await addAccount(store);
	const realm = await addRealm(store, owner);
	await store.secrets.set(aVersion(realm.id, "k"), anEvent());
	const head = await store.audit.head();
	await store.close();
	const { store: again } = await openTestStore(t, directory);
	assert.deepEqual(await again.audit.head(), head);
	assert.equal((await again.secrets.get(realm.id, "dev", "k"))?.version, 1);
	await again.audit.append(anEvent());
	assert.equal(await countEvents(again), head.events + 1);
	assert.ok(await isChainIntact(again));
});

test("a directory has one store at a time, and the refused one harms nothing", async (t) => {
	const { store, directory } = await openTestStore(t);
	await assert.rejects(
		openTestStore(t, directory),
		(error) => error instanceof FatalError && /another svc server/.test(error.message),
	);
	await store.audit.append(anEvent());
	await store.close();
	await (await openTestStore(t, directory)).store.close();
});

test("a store that cannot be opened lets go of the directory", async (t) => {
	const directory = await makeFolder(t);
	writeFileSync(join(directory, "svc.db"), "no database ".repeat(1000));
	await assert.rejects(openTestStore(t, directory), FatalError);
	lockDataDirectory(directory)();
});

test("operations sent before the store is closed are done before it is", async (t) => {
	const { store, directory } = await openTestStore(t);
	const writing = Promise.all(Array.from({ length: 300 }, () => store.audit.append(anEvent())));
	await store.close();
	await writing;
	assert.equal(await countEvents((await openTestStore(t, directory)).store), 300);
});

test("an answered change is seen by the next question, among many at once", async (t) => {
	const { store } = await openTestStore(t);
	const realm = await addRealm(store, await addAccount(store));
	const writeAndRead = async (key: string) => {
		for (let version = 1; version <= 10; version++) {
			await store.secrets.set(aVersion(realm.id, key, { comment: `${key} ${version}` }), anEvent());
			const found = await store.secrets.get(realm.id, "dev", key);
			assert.deepEqual([found?.version, found?.comment], [version, `${key} ${version}`]);
		}
	};
	await Promise.all(Array.from({ length: 20 }, (_, index) => writeAndRead(`key-${index}`)));
});

test("a store that works can be written", async (t) => {
	const { store } = await openTestStore(t);
	assert.equal(await store.isWritable(new Date("2030-01-01T00:00:00Z")), true);
});

test("an answered change is seen in the turn in which the answer comes, also when that turn has read before", async (t) => {
	const { store } = await openTestStore(t);
	const realm = await addRealm(store, await addAccount(store));
	const lookAndDawdle = async () => {
		await store.accounts.byId("nobody");
		// The second change is committed, and its answer arrives, during this turn.
		for (const end = performance.now() + 10; performance.now() < end; );
	};
	for (let round = 1; round <= 20; round++) {
		const first = store.audit.append(anEvent()).then(lookAndDawdle);
		await new Promise((resolve) => setImmediate(resolve));
		await store.secrets.set(aVersion(realm.id, "k"), anEvent());
		assert.equal((await store.secrets.history(realm.id, "dev", "k", undefined, 1))[0]?.version, round);
		await first;
	}
});
