import assert from "node:assert/strict";
import { test } from "node:test";
import { FatalError } from "../errors.ts";
import { system } from "../system.ts";
import { createMemoryKeyStore, type MemoryKeyStore } from "../testing/memory-key-store.ts";
import { type Keyring, openKeyring } from "./keyring.ts";
import type { KeyRow } from "./keyring-model.ts";
import { rotateDataKey } from "./rotation.ts";
import { type EncryptionContext, openPortable, openRecord, sealPortable, sealRecord } from "./seal.ts";
import { masterFingerprint } from "./wrap.ts";

const MASTER = Buffer.alloc(32, 1);
const OTHER_MASTER = Buffer.alloc(32, 2);
const CONTEXT: EncryptionContext = { label: "test", realm_id: "", environment: "", name: "", row_id: "" };
const ROTATED = { timestamp: "", type: "key.rotated", actor: "", realm_id: "", realm: "", data: {} } as const;

const open = (keys: MemoryKeyStore, master = MASTER) => openKeyring({ keys, master, system });
const addRealm = (keyring: Keyring, keys: MemoryKeyStore, realm_id: string) =>
	keyring.withNewKey("record", realm_id, async (row) => void keys.state.rows.push(row));

/** Opens a keyring with two realms in a store that counts its reads of realms' keys. */
async function openWithRealms() {
	const keys = createMemoryKeyStore();
	const reads = { ofRealm: 0, byId: 0 };
	const counting: MemoryKeyStore = {
		...keys,
		ofRealm: (realm_id) => {
			reads.ofRealm++;
			return keys.ofRealm(realm_id);
		},
		byId: (id) => {
			reads.byId++;
			return keys.byId(id);
		},
	};
	const keyring = await open(counting);
	await addRealm(keyring, keys, "a");
	await addRealm(keyring, keys, "b");
	return { keys: counting, keyring, reads };
}

test("a new store gets its shared keys with one event, and the next start finds the same ones", async () => {
	const keys = createMemoryKeyStore();
	const first = await open(keys);
	const portable = sealPortable(first.portable(), "text", system.randomBytes);
	const record = sealRecord(await first.record(""), CONTEXT, Buffer.from("text"), system.randomBytes);
	const signature = first.checkpoint().active.sign(Buffer.from("text"));
	const second = await open(keys);
	assert.equal(
		openPortable(portable, (id) => second.portableById(id)),
		"text",
	);
	assert.equal(openRecord(await second.record(""), CONTEXT, record)?.toString(), "text");
	assert.equal(second.checkpoint().active.verify(Buffer.from("text"), signature), true);
	assert.deepEqual(second.cursorKey(), first.cursorKey());
	assert.deepEqual(second.session(), first.session());
	assert.deepEqual(
		keys.state.events.map(({ type, data }) => ({ type, data })),
		[{ type: "key.created", data: { fingerprint: masterFingerprint(MASTER) } }],
	);
});

test("no two keys of a new store are the same", async () => {
	const keyring = await open(createMemoryKeyStore());
	const bytes = [keyring.cursorKey(), keyring.session().active.bytes, keyring.checkpoint().active.publicKey];
	assert.equal(new Set(bytes.map((key) => key.toString("hex"))).size, 3);
});

test("another master key is refused with both fingerprints, and nothing is changed", async () => {
	const keys = createMemoryKeyStore();
	await open(keys);
	const before = structuredClone(keys.state);
	await assert.rejects(open(keys, OTHER_MASTER), (error) => {
		assert.ok(error instanceof FatalError);
		assert.match(
			error.message,
			new RegExp(`needs .* ${masterFingerprint(MASTER)}, .* this key has ${masterFingerprint(OTHER_MASTER)}`),
		);
		return true;
	});
	assert.deepEqual(structuredClone(keys.state), before);
	await open(keys);
});

test("a store with data and no keyring gets no new one", async () => {
	const keys = createMemoryKeyStore();
	await open(keys);
	keys.state.fingerprint = undefined;
	await assert.rejects(open(keys), { exitCode: 65 });
	await assert.rejects(open({ ...keys, shared: async () => [] }), { exitCode: 65 });
});

test("two first starts at the same time continue with the same keys", async () => {
	const keys = createMemoryKeyStore();
	const [first, second] = await Promise.all([open(keys), open(keys)]);
	assert.deepEqual(first.cursorKey(), second.cursorKey());
});

const DAMAGES: Record<string, (first: KeyRow, second: KeyRow, rows: KeyRow[]) => void> = {
	"a wrapped key with one bit changed": ({ wrapped }) => wrapped.writeUInt8(wrapped.readUInt8(50) ^ 1, 50),
	"a wrapped key cut short": (row) => Object.assign(row, { wrapped: row.wrapped.subarray(1) }),
	"a wrapped key of another row": (row, other) => Object.assign(row, { wrapped: other.wrapped }),
	"a key given another id": (row) => Object.assign(row, { id: Buffer.alloc(8) }),
	"a key given another purpose": (row) => Object.assign(row, { purpose: "session" }),
	"the purposes of two keys exchanged": (_first, _second, rows) => {
		for (const row of rows) {
			if (row.purpose === "cursor") row.purpose = "session";
			else if (row.purpose === "session") row.purpose = "cursor";
		}
	},
	"no key of a purpose": (_first, _second, rows) => rows.splice(1, 1),
	"no active key of a purpose": (row) => Object.assign(row, { state: "retired" }),
};
for (const [what, damage] of Object.entries(DAMAGES)) {
	test(`a keyring with ${what} is refused`, async () => {
		const keys = createMemoryKeyStore();
		await open(keys);
		const [first, second] = keys.state.rows;
		assert.ok(first && second);
		damage(first, second, keys.state.rows);
		await assert.rejects(open(keys), (error) => error instanceof FatalError && /\bdamaged\b/.test(error.message));
	});
}

test("a realm's key is read once, also for many at once, and is there immediately from then on", async () => {
	const { keyring, reads } = await openWithRealms();
	const [first, second] = await Promise.all([keyring.record("a"), keyring.record("a")]);
	assert.equal(first, second);
	assert.equal(reads.ofRealm, 1);
	assert.equal(keyring.record("a"), first);
	assert.equal(reads.ofRealm, 1);
});

test("each realm has its own key, and a box names no key of another realm", async () => {
	const { keyring } = await openWithRealms();
	const box = sealRecord(await keyring.record("a"), CONTEXT, Buffer.from("text"), system.randomBytes);
	assert.equal(await keyring.recordFor("b", box), undefined);
	assert.equal(await keyring.recordFor("a", Buffer.from("no box")), undefined);
	assert.equal(keyring.recordFor("a", box), await keyring.record("a"));
});

test("a key row moved to another realm does not open", async () => {
	const { keys, keyring } = await openWithRealms();
	const row = keys.state.rows.find((candidate) => candidate.realm_id === "a");
	assert.ok(row);
	row.realm_id = "c";
	await assert.rejects(async () => keyring.record("c"), /cannot be opened/);
});

test("a realm without a key is an error, and is asked for again the next time", async () => {
	const { keys, keyring } = await openWithRealms();
	await assert.rejects(async () => keyring.record("new"), { code: "internal_error" });
	await addRealm(keyring, keys, "new");
	assert.ok(await keyring.record("new"));
});

test("after a rotation new records take the new key and old ones open with the old key", async () => {
	const { keys, keyring, reads } = await openWithRealms();
	const old = await keyring.record("a");
	const box = sealRecord(old, CONTEXT, Buffer.from("text"), system.randomBytes);
	await rotateDataKey({ keys, keyring }, "record", "a", ROTATED);
	assert.notDeepEqual((await keyring.record("a")).id, old.id);
	for (const running of [keyring, await open(keys)]) {
		const key = await running.recordFor("a", box);
		assert.equal(key && openRecord(key, CONTEXT, box)?.toString(), "text");
		assert.equal(await running.recordFor("b", box), undefined);
	}
	const before = reads.byId;
	assert.ok(!(keyring.recordFor("a", box) instanceof Promise));
	assert.equal(reads.byId, before, "a retired key is read once");
});

test("a realm that is forgotten while its key is being read is not kept", async () => {
	const { keys, keyring } = await openWithRealms();
	const reading = keyring.record("a");
	keyring.forgetRealm("a");
	keys.state.rows = keys.state.rows.filter((row) => row.realm_id !== "a");
	await reading;
	await assert.rejects(async () => keyring.record("a"), { code: "internal_error" });
});

test("text and signatures from before a rotation stay good, and cursors end with it", async () => {
	const keys = createMemoryKeyStore();
	const keyring = await open(keys);
	const portable = keyring.portable();
	const text = sealPortable(portable, "text", system.randomBytes);
	const signer = keyring.checkpoint().active;
	const session = keyring.session().active;
	const cursorKey = keyring.cursorKey();
	for (const purpose of ["portable", "checkpoint", "session", "cursor"] as const) {
		await rotateDataKey({ keys, keyring }, purpose, "", ROTATED);
	}
	for (const running of [keyring, await open(keys)]) {
		assert.equal(
			openPortable(text, (id) => running.portableById(id)),
			"text",
		);
		assert.notDeepEqual(running.portable().id, portable.id);
		const signature = signer.sign(Buffer.from("text"));
		assert.notDeepEqual(running.checkpoint().active.id, signer.id);
		assert.equal(
			running.checkpoint().byId.get(signer.id.toString("hex"))?.verify(Buffer.from("text"), signature),
			true,
		);
		assert.ok(running.session().byId.get(session.id)?.retired_at instanceof Date);
		assert.equal(running.session().active.retired_at, undefined);
		assert.notDeepEqual(running.cursorKey(), cursorKey);
	}
});

test("a rotation that the store refuses leaves the old key in use", async () => {
	const { keys, keyring } = await openWithRealms();
	const [portable, record] = [keyring.portable(), await keyring.record("a")];
	const failing = { ...keys, rotate: () => Promise.reject(new Error("disk full")) };
	await assert.rejects(rotateDataKey({ keys: failing, keyring }, "portable", "", ROTATED), /disk full/);
	await assert.rejects(rotateDataKey({ keys: failing, keyring }, "record", "a", ROTATED), /disk full/);
	assert.deepEqual(keyring.portable().id, portable.id);
	assert.deepEqual((await keyring.record("a")).id, record.id);
});
