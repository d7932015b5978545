import assert from "node:assert/strict";
import {
	appendFileSync,
	closeSync,
	copyFileSync,
	openSync,
	readFileSync,
	statSync,
	truncateSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, type TestContext, test } from "node:test";
import { openKeyring } from "../crypto/keyring.ts";
import { loadMasterKey } from "../crypto/master-key.ts";
import { FatalError } from "../errors.ts";
import { hashFile } from "../file-hash.ts";
import { verifyBackup } from "../offline.ts";
import { openSnapshot } from "../store/sqlite/snapshots.ts";
import { makeBackedUp } from "../testing/backups.ts";
import { seeded } from "../testing/seeded.ts";
import { makeFolder } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { tamperWith } from "../testing/tamper.ts";
import { frozenKeys, withCopy } from "./check.ts";
import { readManifest, sealManifest, UnsoundBackup } from "./manifest.ts";

const { backup, config } = await makeBackedUp({ after });
const system = createTestSystem();
const whole = readFileSync(backup);
const { manifest } = await readManifest(backup);
const FLIPS = 100;

async function copyOf(t: TestContext): Promise<string> {
	const file = join(await makeFolder(t), "copy.db");
	copyFileSync(backup, file);
	return file;
}

const saying = (pattern: RegExp) => (error: unknown) => error instanceof UnsoundBackup && pattern.test(error.message);
const isRefusal = (error: unknown) => error instanceof UnsoundBackup || error instanceof FatalError;

test("a backup that nobody touched is sound", async () => {
	const { keys, samples } = await verifyBackup(config, backup);
	assert.deepEqual([keys, samples], [7, 1]);
});

test("a flipped bit is found, wherever it is", async (t) => {
	const file = await copyOf(t);
	const seed = Number(process.hrtime.bigint() % 2_147_483_647n);
	const below = seeded(seed);
	const inside = Array.from({ length: FLIPS }, () => below(manifest.bytes));
	const behind = Array.from({ length: FLIPS }, () => manifest.bytes + below(whole.length - manifest.bytes));
	for (const offset of [...inside, ...behind]) {
		put(file, offset, (whole[offset] ?? 0) ^ (1 << below(8)));
		await assert.rejects(verifyBackup(config, file), isRefusal, `offset ${offset}, seed ${seed}`);
		put(file, offset, whole[offset] ?? 0);
	}
});

function put(file: string, offset: number, byte: number): void {
	const handle = openSync(file, "r+");
	writeSync(handle, Buffer.of(byte), 0, 1, offset);
	closeSync(handle);
}

test("a file that was cut off, has something behind it, or is no backup is refused", async (t) => {
	const file = await copyOf(t);
	const noBackup = saying(/\bnot an svc backup\b/);
	appendFileSync(file, "\n");
	await assert.rejects(verifyBackup(config, file), noBackup);
	for (const length of [whole.length - 1, manifest.bytes, manifest.bytes - 1, 100, 0]) {
		truncateSync(file, length);
		await assert.rejects(verifyBackup(config, file), noBackup, `${length} bytes`);
	}
	writeFileSync(file, Buffer.concat([whole.subarray(0, 4096), whole.subarray(manifest.bytes)]));
	await assert.rejects(verifyBackup(config, file), noBackup);
});

/** Alters the database of a copy and signs the result with the instance's own key. */
async function altered(t: TestContext, change: string, signs = true): Promise<string> {
	const file = await copyOf(t);
	truncateSync(file, manifest.bytes);
	const { facts, keys } = await withCopy({ openSnapshot }, file, async (copy) => ({
		facts: await copy.facts(),
		keys: await copy.keys(),
	}));
	const { key } = await loadMasterKey(config, facts.fingerprint, system);
	const keyring = await openKeyring({ keys: frozenKeys(facts.fingerprint, keys), master: key.reveal(), system });
	const db = new DatabaseSync(file);
	db.exec("PRAGMA foreign_keys = OFF");
	tamperWith(db, () => db.exec(change));
	db.close();
	const sealed = { ...manifest, bytes: statSync(file).size, sha256: await hashFile(file) };
	const signer = keyring.checkpoint().active;
	await sealManifest(file, sealed, signs ? signer : { ...signer, sign: () => Buffer.alloc(64) });
	return file;
}

/** SQL for a value with its last byte replaced. */
const spoilt = (column: string) => `CAST(substr(${column}, 1, length(${column}) - 1) || x'00' AS BLOB)`;
const ALTERATIONS: Record<string, [change: string, says: RegExp]> = {
	"an event of the log": ["UPDATE audit_event SET actor = 'nobody' WHERE seq = 2", /\bevent 2\b/],
	"the newest event, which is taken away": [
		"DELETE FROM audit_event WHERE seq = (SELECT max(seq) FROM audit_event)",
		/\banother database\b/,
	],
	"a sealed value": [`UPDATE secret_version SET value = ${spoilt("value")}`, /\bsealed row\b/],
	"a realm's key": [`UPDATE keyring SET wrapped = ${spoilt("wrapped")} WHERE realm_id <> ''`, /\bkey in it\b/],
	"a reference": ["DELETE FROM account", /\bdamaged: .*\brow of \w+/],
	"the schema, by a newer svc": [
		"INSERT INTO migration VALUES ('9999-later', '', '2030-01-01T00:00:00.000Z')",
		/\bnewer svc\b/,
	],
	"the schema, by another program": [
		"CREATE TRIGGER promote AFTER INSERT ON account BEGIN UPDATE account SET instance_admin = 1; END",
		/\bschema\b.*: trigger promote/,
	],
};

for (const [what, [change, says]] of Object.entries(ALTERATIONS)) {
	test(`what was altered before the digest was made is found: ${what}`, async (t) => {
		await assert.rejects(verifyBackup(config, await altered(t, change)), saying(says));
	});
}

test("a digest that fits is not enough: the last line has to be signed by the instance", async (t) => {
	const file = await altered(t, "UPDATE realm SET name = 'other'", false);
	await assert.rejects(verifyBackup(config, file), saying(/\bnot signed\b/));
});
