import assert from "node:assert/strict";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { system } from "../system.ts";
import { createMemoryKeyStore, type MemoryKeyStore } from "../testing/memory-key-store.ts";
import { type Keyring, openKeyring } from "./keyring.ts";
import type { KeyStore } from "./keyring-model.ts";
import { loadMasterKey } from "./master-key.ts";
import { type MasterKeyHome, rotateMasterKey } from "./rotation.ts";
import { type EncryptionContext, openPortable, openRecord, sealPortable, sealRecord } from "./seal.ts";
import { masterFingerprint } from "./wrap.ts";

const NEXT = Buffer.alloc(32, 2);
const CONTEXT: EncryptionContext = { label: "test", realm_id: "a", environment: "", name: "", row_id: "" };
const ROTATED = { timestamp: "", type: "key.rotated", actor: "", realm_id: "", realm: "", data: {} } as const;

/** Sets up a server's keys: store, key file and keyring, with one realm and something sealed under each kind of key. */
async function start(folder: string, keys: MemoryKeyStore) {
	const sources = { credentials_dir: undefined, master_key_file: undefined, data_dir: folder, master_key: undefined };
	const master = await loadMasterKey(sources, await keys.fingerprint(), system);
	const keyring = await openKeyring({ keys, master: master.key.reveal(), system });
	assert.ok(master.home);
	return { keyring, home: master.home, fingerprint: master.fingerprint };
}

async function setUp(t: { after: (clean: () => Promise<void>) => void }) {
	const folder = await mkdtemp(join(tmpdir(), "svc-rotation-"));
	t.after(() => rm(folder, { recursive: true }));
	const keys = createMemoryKeyStore();
	const { keyring, home, fingerprint } = await start(folder, keys);
	await addRealm(keyring, keys, "a");
	const text = sealPortable(keyring.portable(), "text", system.randomBytes);
	const box = sealRecord(await keyring.record("a"), CONTEXT, Buffer.from("text"), system.randomBytes);
	const assertOpens = async (running: Keyring) => {
		assert.equal(
			openPortable(text, (id) => running.portableById(id)),
			"text",
		);
		running.forgetRealm("a");
		assert.equal(openRecord(await running.record("a"), CONTEXT, box)?.toString(), "text");
	};
	return { folder, keys, keyring, home, fingerprint, assertOpens };
}

const addRealm = (keyring: Keyring, keys: MemoryKeyStore, realm_id: string) =>
	keyring.withNewKey("record", realm_id, async (row) => void keys.state.rows.push(row));

test("the master key is replaced while the keyring keeps working, and the file holds the new one", async (t) => {
	const { folder, keys, keyring, home, assertOpens } = await setUp(t);
	await copyFile(join(folder, "master.key"), join(folder, "master.key.new"));
	await rotateMasterKey({ keys, keyring, home, system }, NEXT, ROTATED);
	assert.equal(keyring.fingerprint, masterFingerprint(NEXT));
	await assertOpens(keyring);
	await addRealm(keyring, keys, "b");
	assert.ok(await keyring.record("b"));
	assert.deepEqual(await readdir(folder), ["master.key"]);
	const again = await start(folder, keys);
	assert.equal(again.fingerprint, masterFingerprint(NEXT));
	await assertOpens(again.keyring);
	assert.ok(await again.keyring.record("b"));
	assert.deepEqual(
		keys.state.events.map((event) => event.type),
		["key.created", "key.rotated"],
	);
});

/** Interrupts at one step: it and all later ones fail, as after the death of the process. */
function cutOff(keys: KeyStore, home: MasterKeyHome, at: string) {
	let isDead = false;
	const step = async <T>(name: string, work: () => T | Promise<T>): Promise<T> => {
		isDead ||= name === at;
		return isDead ? Promise.reject(new Error("cut off")) : work();
	};
	let settled = 0;
	return {
		keys: {
			...keys,
			fingerprint: () => step("reading the fingerprint", keys.fingerprint),
			rewrap: async (...input: Parameters<KeyStore["rewrap"]>) => {
				const outcome = await step("before the transaction", () => keys.rewrap(...input));
				return step("after the transaction", async () => outcome);
			},
		},
		home: {
			stage: async (next: Buffer) => {
				await step("before the next file", () => home.stage(next));
				await step("after the next file", async () => undefined);
			},
			settle: async (fingerprint: string) => {
				settled++;
				if (settled === 1) return home.settle(fingerprint);
				await step("before the renaming", () => home.settle(fingerprint));
				await step("after the renaming", async () => undefined);
			},
		},
	};
}

const STEPS = [
	["before the next file", "old"],
	["after the next file", "old"],
	["before the transaction", "old"],
	["after the transaction", "new"],
	["before the renaming", "new"],
	["after the renaming", "new"],
] as const;
for (const [step, expected] of STEPS) {
	test(`a rotation cut off ${step} is brought to its end by the next start: the ${expected} key holds`, async (t) => {
		const { folder, keys, keyring, home, fingerprint, assertOpens } = await setUp(t);
		await assert.rejects(rotateMasterKey({ ...cutOff(keys, home, step), keyring, system }, NEXT, ROTATED), /cut off/);
		const again = await start(folder, keys);
		assert.equal(again.fingerprint, expected === "old" ? fingerprint : masterFingerprint(NEXT));
		await assertOpens(again.keyring);
		assert.deepEqual(await readdir(folder), ["master.key"]);
		await rotateMasterKey({ keys, ...again, system }, Buffer.alloc(32, 3), ROTATED);
		await assertOpens(again.keyring);
	});
}

test("a next file that was cut off while it was written is dropped", async (t) => {
	const { folder, keys, fingerprint, assertOpens } = await setUp(t);
	await writeFile(join(folder, "master.key.next"), "0202", { mode: 0o400 });
	const again = await start(folder, keys);
	assert.equal(again.fingerprint, fingerprint);
	await assertOpens(again.keyring);
	assert.deepEqual(await readdir(folder), ["master.key"]);
});

test("the draft of a next file that was cut off is removed", async (t) => {
	const { folder, keys, assertOpens } = await setUp(t);
	await writeFile(join(folder, "master.key.next.new"), NEXT.toString("hex"), { mode: 0o400 });
	await assertOpens((await start(folder, keys)).keyring);
	assert.deepEqual(await readdir(folder), ["master.key"]);
});

test("a rotation replaces no file in the place of the next key", async (t) => {
	const { folder, home } = await setUp(t);
	await writeFile(join(folder, "master.key.next"), "an administrator's");
	await assert.rejects(home.stage(NEXT), { code: "conflict" });
	assert.equal(await readFile(join(folder, "master.key.next"), "utf8"), "an administrator's");
});

test("a key file damaged beside its complete successor is replaced by it", async (t) => {
	const { folder, keys, keyring, assertOpens } = await setUp(t);
	await rotateMasterKey({ keys, keyring, home: undefined, system }, NEXT, ROTATED);
	await rm(join(folder, "master.key"));
	const files = { "master.key": "damaged", "master.key.next": NEXT.toString("hex") };
	for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o400 });
	await assertOpens((await start(folder, keys)).keyring);
	assert.deepEqual(await readdir(folder), ["master.key"]);
});

test("when neither file is the key of the data, both are left alone and the start is refused", async (t) => {
	const { folder, keys } = await setUp(t);
	await rm(join(folder, "master.key"));
	const files = { "master.key": "03".repeat(32), "master.key.next": "04".repeat(32) };
	for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o400 });
	await assert.rejects(start(folder, keys), /\bfingerprint\b/);
	for (const [name, text] of Object.entries(files)) assert.equal(await readFile(join(folder, name), "utf8"), text);
});

test("a failing transaction leaves the old key in use, with nothing next to it", async (t) => {
	const { folder, keys, keyring, home, fingerprint, assertOpens } = await setUp(t);
	const failing = { ...keys, rewrap: () => Promise.reject(new Error("disk full")) };
	await assert.rejects(rotateMasterKey({ keys: failing, keyring, home, system }, NEXT, ROTATED), /disk full/);
	assert.equal(keyring.fingerprint, fingerprint);
	await assertOpens(keyring);
	assert.deepEqual(await readdir(folder), ["master.key"]);
});

test("a transaction that is committed and reported as failed leaves the new key in use", async (t) => {
	const { folder, keys, keyring, home, assertOpens } = await setUp(t);
	const lying: KeyStore = {
		...keys,
		rewrap: async (...input) => {
			await keys.rewrap(...input);
			throw new Error("connection lost");
		},
	};
	await assert.rejects(rotateMasterKey({ keys: lying, keyring, home, system }, NEXT, ROTATED), /connection lost/);
	assert.equal(keyring.fingerprint, masterFingerprint(NEXT));
	await assertOpens(keyring);
	assert.equal((await start(folder, keys)).fingerprint, masterFingerprint(NEXT));
});

test("a realm purged between the reading and the writing of the keys makes the rotation read again", async (t) => {
	const { keys, keyring, home, assertOpens } = await setUp(t);
	await addRealm(keyring, keys, "purged");
	let readings = 0;
	const purging: KeyStore = {
		...keys,
		all: async () => {
			const rows = await keys.all();
			if (readings++ === 0) keys.state.rows = keys.state.rows.filter((row) => row.realm_id !== "purged");
			return rows;
		},
	};
	await rotateMasterKey({ keys: purging, keyring, home, system }, NEXT, ROTATED);
	assert.equal(readings, 2);
	await assertOpens(keyring);
});

test("a keyring that never holds still is left as it was", async (t) => {
	const { keys, keyring, home, fingerprint, assertOpens } = await setUp(t);
	const restless: KeyStore = { ...keys, rewrap: async () => "changed" };
	await assert.rejects(
		rotateMasterKey({ keys: restless, keyring, home, system }, NEXT, ROTATED),
		(error) => error instanceof AppError && error.code === "conflict",
	);
	assert.equal(keyring.fingerprint, fingerprint);
	await assertOpens(keyring);
});

test("rotating to the key in use is a conflict", async (t) => {
	const { keys, home, keyring, folder } = await setUp(t);
	const present = Buffer.from((await readFile(join(folder, "master.key"), "utf8")).trim(), "hex");
	await assert.rejects(rotateMasterKey({ keys, keyring, home, system }, present, ROTATED), { code: "conflict" });
	assert.deepEqual(await readdir(folder), ["master.key"]);
});

test("two rotations at once take their turns", async (t) => {
	const { folder, keys, keyring, home, assertOpens } = await setUp(t);
	const last = Buffer.alloc(32, 3);
	await Promise.all([NEXT, last].map((next) => rotateMasterKey({ keys, keyring, home, system }, next, ROTATED)));
	assert.equal((await start(folder, keys)).fingerprint, masterFingerprint(last));
	await assertOpens(keyring);
});

test("a rotation waits for a realm that is being made, so that its key is not left under the old key", async (t) => {
	const { keys, keyring } = await setUp(t);
	const held = Promise.withResolvers<void>();
	const making = keyring.withNewKey("record", "b", async (row) => {
		await held.promise;
		keys.state.rows.push(row);
	});
	const rotating = rotateMasterKey({ keys, keyring, home: undefined, system }, NEXT, ROTATED);
	// In this turn of the event loop the rotation does all that it can do meanwhile.
	await setImmediate();
	held.resolve();
	await Promise.all([making, rotating]);
	assert.ok(await keyring.record("b"));
});

test("a realm that is made during a rotation waits for its end, and its key is wrapped under the new key", async (t) => {
	const { keys, keyring } = await setUp(t);
	const held = Promise.withResolvers<void>();
	const slow: KeyStore = {
		...keys,
		rewrap: async (...input) => {
			await held.promise;
			return keys.rewrap(...input);
		},
	};
	const rotating = rotateMasterKey({ keys: slow, keyring, home: undefined, system }, NEXT, ROTATED);
	await setImmediate();
	const making = keyring.withNewKey("record", "b", async (row) => row);
	held.resolve();
	const [row] = await Promise.all([making, rotating]);
	assert.equal(row.wrapped.toString("hex", 1, 9), masterFingerprint(NEXT));
});

test("keys read before a rotation and opened after it are read again", async (t) => {
	const { keys, home, folder } = await setUp(t);
	const held = Promise.withResolvers<void>();
	let readings = 0;
	const slow: MemoryKeyStore = {
		...keys,
		ofRealm: async (realm_id) => {
			const rows = await keys.ofRealm(realm_id);
			if (readings++ === 0) await held.promise;
			return rows;
		},
	};
	const { keyring } = await start(folder, slow);
	const reading = keyring.record("a");
	await rotateMasterKey({ keys: slow, keyring, home, system }, NEXT, ROTATED);
	held.resolve();
	assert.ok(await reading);
	assert.equal(readings, 2);
});

test("a damaged key stops the rotation before anything is written", async (t) => {
	const { keys, keyring, home, fingerprint } = await setUp(t);
	keys.state.rows = keys.state.rows.map((row) => (row.realm_id === "a" ? { ...row, realm_id: "z" } : row));
	await assert.rejects(rotateMasterKey({ keys, keyring, home, system }, NEXT, ROTATED), /cannot be opened/);
	assert.equal(keys.state.fingerprint, fingerprint);
});
