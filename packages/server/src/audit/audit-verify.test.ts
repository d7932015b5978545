import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rotateDataKey } from "../crypto/rotation.ts";
import { AppError } from "../errors.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { anActor } from "../testing/actor.ts";
import { countEvents } from "../testing/events.ts";
import { createTestLog } from "../testing/log.ts";
import { setMistyped } from "../testing/mistyped.ts";
import { aLease, anEvent, aVersion } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import type { Cleanup } from "../testing/store.ts";
import { tamperWith } from "../testing/tamper.ts";
import { parseAnchor, verifyLog } from "./audit.ts";
import { checkpointText } from "./chain.ts";
import { createCheckpointer } from "./checkpoints.ts";
import { keySetOf } from "./key-parts.ts";
import { proveLog } from "./proof.ts";

const ADMIN = anActor({ instance_admin: true, jti: undefined });

/** A log of eleven events, the first of which the keyring wrote. */
async function setUp(t: Cleanup) {
	const rules = await openTestRules(t);
	const { store, keyring, system, file } = rules;
	const write = (count: number) =>
		Promise.all(Array.from({ length: count }, (_, index) => store.audit.append(anEvent({ data: { index } }))));
	await write(10);
	const sign = await createCheckpointer({ store, system, keyring, log: createTestLog().log });
	/** Signs the end of the chain, after one more event. */
	const checkpoint = async () => {
		await write(1);
		await sign(true);
		const { events: seq, hash } = await store.audit.head();
		return { seq, hash };
	};
	/** Changes the database behind the server's back, as anybody with a database tool can. */
	const tamper = (statements: string) => {
		const db = openWriter(file);
		tamperWith(db, () => db.exec(statements));
		db.close();
	};
	const verify = async (outside?: { seq: number; hash: Buffer }) => {
		const { status, seq, checkpoints, is_anchored } = await verifyLog(rules, ADMIN, outside);
		return { status, seq, checkpoints, is_anchored };
	};
	return { ...rules, write, checkpoint, tamper, verify };
}

/** Values that no event and no checkpoint has, and the number that a verification names: of the event, or of the checkpoint. */
const MISTYPED: [table: string, column: string, value: string, named: number][] = [
	["audit_event", "data", "iif(seq = 5, NULL, data)", 5],
	["audit_event", "data", `iif(seq = 5, 'no facts "key_set":"', data)`, 5],
	["audit_checkpoint", "signature", "NULL", 12],
	["audit_checkpoint", "key_id", "NULL", 12],
];

for (const [table, column, value, seq] of MISTYPED)
	test(`a verification names what another program wrote that is no ${column}: ${value}`, async (t) => {
		const { verify, checkpoint, file } = await setUp(t);
		assert.equal((await checkpoint()).seq, 12);
		const db = openWriter(file);
		tamperWith(db, () => setMistyped(db, table, column, value));
		db.close();
		assert.deepEqual(await verify(), { status: "altered", seq, checkpoints: 1, is_anchored: false });
	});

const WITHOUT_TRIGGERS = ["audit_key", "audit_key_part", "audit_key_in_part", "audit_key_set", "audit_part_in_set"]
	.map((table) => `DROP TRIGGER ${table}_keep; DROP TRIGGER ${table}_stay`)
	.join("; ");

/** For tests that leave it as they found it. */
const shared = await setUp({ after });
await shared.checkpoint();
const [sharedCheckpoint = assert.fail("no checkpoint")] = await shared.store.audit.checkpoints(0, 1);

const INTACT = { status: "intact", seq: undefined };

test("a log as it was written is intact, with its checkpoints, and verifying is in the log itself", async (t) => {
	const { verify, checkpoint, store } = await setUp(t);
	assert.deepEqual(await verify(), { ...INTACT, checkpoints: 0, is_anchored: false });
	await checkpoint();
	await checkpoint();
	const before = await countEvents(store);
	assert.deepEqual(await verify(), { ...INTACT, checkpoints: 2, is_anchored: false });
	const query = { scopes: [{ realm_ids: [""] }], realm: undefined, type: "audit.verified", actors: undefined };
	const [newest] = await store.audit.list(query, undefined, 1);
	assert.deepEqual(JSON.parse(newest?.data ?? ""), {
		status: "intact",
		last_seq: before,
		request_id: ADMIN.request_id,
		ip: ADMIN.ip,
	});
	assert.equal(newest?.seq, before + 1);
});

const TAMPERINGS: Record<string, [statements: string, seq: number]> = {
	"an event's actor": ["UPDATE audit_event SET actor = 'somebody' WHERE seq = 5", 5],
	"an event's facts": ["UPDATE audit_event SET data = '{}' WHERE seq = 5", 5],
	"an event taken out": ["DELETE FROM audit_event WHERE seq = 5", 5],
	"the first event taken out": ["DELETE FROM audit_event WHERE seq = 1", 1],
	"two events that changed places": [
		"UPDATE audit_event SET seq = -seq WHERE seq IN (5, 6); UPDATE audit_event SET seq = 11 + seq WHERE seq < 0",
		5,
	],
};
const tampered = await setUp({ after });
tampered.tamper("CREATE TABLE kept AS SELECT * FROM audit_event");

for (const [what, [statements, seq]] of Object.entries(TAMPERINGS)) {
	test(`a database tool that changes the log is found out: ${what}`, async () => {
		const { verify, tamper } = tampered;
		tamper("DELETE FROM audit_event; INSERT INTO audit_event SELECT * FROM kept");
		assert.equal((await verify()).status, "intact");
		tamper(`DELETE FROM audit_event WHERE type = 'audit.verified'; ${statements}`);
		assert.deepEqual(await verify(), { status: "altered", seq, checkpoints: 0, is_anchored: false });
	});
}

test("a log that was cut off is found by a checkpoint in the database, and without it by one kept elsewhere", async (t) => {
	const { verify, checkpoint, tamper } = await setUp(t);
	const kept = await checkpoint();
	tamper("DELETE FROM audit_event WHERE seq > 6");
	assert.deepEqual(await verify(), { status: "truncated", seq: 7, checkpoints: 1, is_anchored: false });
	tamper(`DELETE FROM audit_checkpoint; DELETE FROM audit_event WHERE seq > 6`);
	assert.equal((await verify()).status, "rows_altered", "the tip alone tells");
	tamper(`DELETE FROM audit_event WHERE seq > 6`);
	assert.deepEqual(await verify(kept), { status: "truncated", seq: 7, checkpoints: 0, is_anchored: true });
});

test("checkpoints are read and verified a hundred at a time, and a forged one is found wherever it is", async (t) => {
	const { store, keyring, checkpoint, tamper } = await setUp(t);
	for (let count = 0; count < 101; count++) await checkpoint();
	const read: number[] = [];
	const audit = {
		...store.audit,
		async checkpoints(after: number, limit: number) {
			const some = await store.audit.checkpoints(after, limit);
			read.push(some.length);
			return some;
		},
	};
	const prove = async () => {
		const { report, checkpoints } = await proveLog(audit, keyring, undefined);
		return { status: report.status, seq: report.seq, checkpoints };
	};
	assert.deepEqual(await prove(), { ...INTACT, checkpoints: 101 });
	assert.deepEqual(read, [100, 1]);
	const { events: seq } = await store.audit.head();
	tamper(`UPDATE audit_checkpoint SET signature = zeroblob(64) WHERE seq = ${seq}`);
	assert.deepEqual(await prove(), { status: "altered", seq, checkpoints: 101 });
});

test("a checkpoint from outside that is true anchors the log, and one that is not shows where it differs", async (t) => {
	const { verify, checkpoint } = await setUp(t);
	const kept = await checkpoint();
	assert.deepEqual(await verify(kept), { ...INTACT, checkpoints: 1, is_anchored: true });
	const other = { seq: 3, hash: kept.hash };
	assert.deepEqual(await verify(other), { status: "altered", seq: 3, checkpoints: 1, is_anchored: true });
});

test("a change of rows that no event names is named although the log is intact", async (t) => {
	const rules = await setUp(t);
	const { store, tamper, verify } = rules;
	const altered = async () => (await verifyLog(rules, ADMIN, undefined)).altered;
	tamper("INSERT INTO meta (name, value) VALUES ('leases_paused', '2030')");
	assert.equal((await verify()).status, "rows_altered");
	assert.deepEqual(await altered(), ["rows of meta"]);
	tamper("DELETE FROM meta WHERE mac IS NULL");
	assert.equal((await verify()).status, "intact");
	const { id: realm_id } = await addRealm(store, await addAccount(store));
	await store.secrets.set(aVersion(realm_id, "KEY"), anEvent({ realm_id }));
	await store.leases.begin(aLease(realm_id), null, anEvent({ realm_id }));
	assert.deepEqual(await altered(), []);
	tamper("UPDATE secret_version SET expires_at = '2040'");
	assert.deepEqual(await altered(), ["the sum of content rows", "rows of secret_version"]);
	tamper("UPDATE lease SET due_at = 33000000000000");
	assert.deepEqual(await altered(), ["the sum of content rows", "rows of secret_version", "rows of lease"]);
});

const ALTERED_NAMES: Record<string, string> = {
	"a key renamed": "UPDATE audit_key SET key = 'OTHER' WHERE key = 'DB_URL'",
	"two keys that changed their names":
		"UPDATE audit_key SET key = 'x' WHERE key = 'DB_URL'; UPDATE audit_key SET key = 'DB_URL' WHERE key = 'LOST'; UPDATE audit_key SET key = 'LOST' WHERE key = 'x'",
	"a key taken out of its part":
		"DELETE FROM audit_key_in_part WHERE key_id = (SELECT id FROM audit_key WHERE key = 'DB_URL')",
	"a key put into a part": "INSERT INTO audit_key_in_part SELECT 2, id FROM audit_key WHERE key = 'LOST'",
	"a part with another hash": "UPDATE audit_key_part SET hash = substr(hash, 2) || 'f'",
	"a set with another part": "INSERT INTO audit_part_in_set SELECT 1, id FROM audit_key_part WHERE id = 1",
	"a set without its part": "DELETE FROM audit_part_in_set",
	"a set of another realm": "UPDATE audit_key_set SET realm_id = 'other'",
	"a set with another hash": "UPDATE audit_key_set SET hash = substr(hash, 2) || 'f'",
	"no set": "DELETE FROM audit_part_in_set; DELETE FROM audit_key_set",
};
for (const [what, statements] of Object.entries(ALTERED_NAMES)) {
	test(`the names that bulk reads refer to are compared: ${what} makes the log altered at the first of them`, async (t) => {
		const { verify, tamper, store } = await setUp(t);
		const set = keySetOf(["API_KEY", "DB_URL"]);
		const read = anEvent({ type: "secret.sync", realm_id: "r", data: { key_set: set.hash } });
		await store.audit.keepParts(keySetOf(["LOST"]).parts);
		await store.audit.appendNaming(set, read);
		await store.audit.append(read);
		assert.equal((await verify()).status, "intact");
		tamper(`${WITHOUT_TRIGGERS}; ${statements}`);
		assert.deepEqual(await verify(), { status: "altered", seq: 12, checkpoints: 0, is_anchored: false });
	});
}

const FORGERIES: Record<string, string> = {
	"another hash": "UPDATE audit_checkpoint SET hash = zeroblob(32)",
	"another time": "UPDATE audit_checkpoint SET timestamp = '2031-01-01T00:00:00.000Z'",
	"another event": "UPDATE audit_checkpoint SET seq = 4",
	"another signature": "UPDATE audit_checkpoint SET signature = zeroblob(64)",
	"a signature cut short": "UPDATE audit_checkpoint SET signature = substr(signature, 1, 63)",
	"no signature": "UPDATE audit_checkpoint SET signature = x''",
	"a key that nobody has": "UPDATE audit_checkpoint SET key_id = zeroblob(8)",
};
for (const [what, statement] of Object.entries(FORGERIES)) {
	test(`a checkpoint with ${what} makes the log altered at its event`, async () => {
		const { verify, tamper, store } = shared;
		tamper(statement);
		const found = await verify();
		tamper("DELETE FROM audit_checkpoint");
		await store.audit.addCheckpoint(sharedCheckpoint);
		assert.deepEqual([found.status, found.seq], ["altered", statement.includes("SET seq") ? 4 : sharedCheckpoint.seq]);
		assert.equal((await verify()).status, "intact");
	});
}

test("a checkpoint that somebody signed with a key of their own is a forgery, though it fits the log", async (t) => {
	const { verify, store, keyring } = await setUp(t);
	const foreign = await openTestRules(t);
	const { events: seq, hash } = await store.audit.head();
	const timestamp = "2030-01-01T00:00:00.000Z";
	const signature = foreign.keyring.checkpoint().active.sign(checkpointText({ seq, hash, timestamp }));
	const key_id = keyring.checkpoint().active.id;
	await store.audit.addCheckpoint({ seq, timestamp, hash, key_id, signature });
	assert.deepEqual(await verify(), { status: "altered", seq, checkpoints: 1, is_anchored: false });
});

test("checkpoints stay good when the checkpoint key is rotated", async (t) => {
	const { verify, checkpoint, store, keyring } = await setUp(t);
	await checkpoint();
	await rotateDataKey({ keys: store.keys, keyring }, "checkpoint", "", anEvent({ type: "key.rotated" }));
	await checkpoint();
	assert.deepEqual(await verify(), { ...INTACT, checkpoints: 2, is_anchored: false });
});

const REFUSED: [who: string, given: Parameters<typeof anActor>[0], code: string][] = [
	["a user", {}, "forbidden"],
	[
		"the instance admin without the scope read",
		{ instance_admin: true, scopes: ["write", "delete"] },
		"insufficient_scope",
	],
	["the instance admin's token for one realm", { instance_admin: true, realm_id: "r" }, "insufficient_scope"],
];
for (const [who, given, code] of REFUSED) {
	test(`${who} cannot verify the log: ${code}`, async () => {
		await assert.rejects(
			verifyLog(shared, anActor(given), undefined),
			(error) => error instanceof AppError && error.code === code,
		);
	});
}

test("number and hash of an outside checkpoint go together", () => {
	assert.equal(parseAnchor(undefined, undefined), undefined);
	assert.deepEqual(parseAnchor(3, "ab".repeat(32)), { seq: 3, hash: Buffer.alloc(32, 0xab) });
	for (const [seq, hash] of [
		[3, undefined],
		[undefined, "ab"],
	] as const) {
		assert.throws(
			() => parseAnchor(seq, hash),
			(error) => error instanceof AppError && error.code === "validation_failed",
		);
	}
});
