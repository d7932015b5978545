import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { countEvents, eventsAfter, isChainIntact } from "../../../testing/events.ts";
import { STEPS } from "../../../testing/purge-process.ts";
import { aMachine, anEvent, aVersion, MADE_AT, purgeable } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { openTestStore, writeAsStore } from "../../../testing/store.ts";
import { openWriter } from "../open.ts";
import { purgeBatch } from "./purge.ts";

const PROCESS = join(import.meta.dirname, "../../../testing/purge-process.ts");
const LONG_AGO = "2029-01-01T00:00:00.000Z";
const OF_MACHINES = "machine_id IN (SELECT id FROM machine WHERE realm_id = ?)";

const { store, file } = await openTestStore({ after });
const owner = await addAccount(store);

/** Purges every realm that was deleted by now. */
async function purgeAll(): Promise<number> {
	const due = await store.realms.deletedBefore(MADE_AT, 1000);
	for (const { id, slug } of due) {
		await store.realms.empty(purgeable(id));
		await store.realms.purge(purgeable(id), anEvent({ type: "realm.purged", realm_id: id, realm: slug }));
	}
	return due.length;
}

/** Rows of a realm. */
interface Contents {
	secrets?: number;
	/** Of each secret. */
	versions?: number;
	/** Of each version. */
	bytes?: number;
	tokens?: number;
	machine_tokens?: number;
	trusts?: number;
}

/** Adds a realm with rows that are written straight into the file. */
async function filledRealm({
	secrets = 0,
	versions = 1,
	bytes = 1,
	tokens = 0,
	machine_tokens = 0,
	trusts = 0,
}: Contents) {
	const realm = await addRealm(store, owner);
	const db = new Database(file);
	const secret = db.prepare(
		"INSERT INTO secret (realm_id, environment, key, version, created_at) VALUES (?, 'dev', ?, 1, '')",
	);
	const version = db.prepare(
		"INSERT INTO secret_version (secret_id, version, id, value, pre_encrypted, comment, created_by, created_at) VALUES (?, ?, '', zeroblob(?), 0, '', '', '')",
	);
	const token = db.prepare(
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, realm_id, created_at) VALUES (hex(randomblob(16)), ?, '', '', randomblob(32), 'read', ?, '')",
	);
	const machine = aMachine(realm.id);
	await store.machines.set(machine, anEvent());
	const machineToken = db.prepare(
		"INSERT INTO machine_token (id, machine_id, name, prefix, digest, created_by, created_at, expires_at) VALUES (hex(randomblob(16)), ?, '', '', randomblob(32), '', '', '9')",
	);
	const trust = db.prepare(
		"INSERT INTO trust (id, machine_id, name, type, audience, claims, max_ttl_ms, single_use, created_by, created_at) VALUES (hex(randomblob(16)), ?, hex(randomblob(8)), 'oidc', '', '', 1, 1, '', '')",
	);
	db.transaction(() => {
		for (let at = 0; at < secrets; at++) {
			const { lastInsertRowid } = secret.run(realm.id, `KEY_${at}`);
			for (let number = 1; number <= versions; number++) version.run(lastInsertRowid, number, bytes);
		}
		for (let at = 0; at < tokens; at++) token.run(owner.id, realm.id);
		for (let at = 0; at < machine_tokens; at++) machineToken.run(machine.id);
		for (let at = 0; at < trusts; at++) trust.run(machine.id);
	})();
	db.close();
	await nextTurn();
	return realm;
}

/** Adds such a realm that was deleted. */
async function deletedRealm(contents: Contents) {
	const realm = await filledRealm(contents);
	await store.realms.remove({ id: realm.id, deleted_at: LONG_AGO }, anEvent());
	return realm;
}

/** Counts the rows of the realm, and of secrets whose realm is gone. */
function rowsOf(realm_id: string): Record<string, number> {
	const db = new Database(file, { readonly: true });
	const count = (sql: string, ...args: string[]) =>
		db
			.prepare(sql)
			.pluck()
			.get(...args) as number;
	const found = {
		realm: count("SELECT count(*) FROM realm WHERE id = ?", realm_id),
		keys: count("SELECT count(*) FROM keyring WHERE realm_id = ?", realm_id),
		secrets: count("SELECT count(*) FROM secret WHERE realm_id = ?", realm_id),
		versions: count(
			"SELECT count(*) FROM secret_version WHERE secret_id IN (SELECT id FROM secret WHERE realm_id = ?)",
			realm_id,
		),
		tokens: count("SELECT count(*) FROM api_token WHERE realm_id = ?", realm_id),
		machine_tokens: count(`SELECT count(*) FROM machine_token WHERE ${OF_MACHINES}`, realm_id),
		trusts: count(`SELECT count(*) FROM trust WHERE ${OF_MACHINES}`, realm_id),
		lost: count("SELECT count(*) FROM secret_version WHERE secret_id NOT IN (SELECT id FROM secret)"),
	};
	assert.equal(db.pragma("integrity_check", { simple: true }), "ok");
	db.close();
	return found;
}

/** Counts the rows that one transaction removes, then rolls it back. */
function firstPart(realm_id: string): number {
	const db = openWriter(file);
	writeAsStore(db);
	const empty = purgeBatch(db);
	db.exec("BEGIN IMMEDIATE");
	const count = empty(purgeable(realm_id));
	db.exec("ROLLBACK");
	db.close();
	return count;
}

const NONE = { realm: 0, keys: 0, secrets: 0, versions: 0, tokens: 0, machine_tokens: 0, trusts: 0, lost: 0 };

for (const [what, contents, part] of [
	["many small secrets", { secrets: 9000 }, 2000],
	["large values", { secrets: 16, versions: 8, bytes: 256 * 1024 }, 1],
	["many tokens", { tokens: 2500 }, 1000],
	["many tokens of machines", { machine_tokens: 2500 }, 1000],
	["many trusts", { trusts: 250 }, 100],
] as const) {
	test(`others write while a realm of ${what} is purged, which is one event`, async () => {
		const realm = await deletedRealm(contents);
		assert.equal(firstPart(realm.id), part);
		const start = await countEvents(store);
		let isOver = false;
		const purging = purgeAll().finally(() => {
			isOver = true;
		});
		let written = 0;
		for (; !isOver; written++) await store.audit.append(anEvent());
		assert.equal(await purging, 1);
		assert.ok(written >= 3, `${written} writes`);
		assert.deepEqual(rowsOf(realm.id), NONE);
		const events = (await eventsAfter(store, start, [realm.id])).filter(([type]) => type === "realm.purged");
		assert.deepEqual(events, [["realm.purged", {}]]);
	});
}

test("a realm that lives is not emptied", async () => {
	const realm = await addRealm(store, owner);
	await store.secrets.set(aVersion(realm.id, "k"), anEvent());
	assert.equal(await store.realms.empty(purgeable(realm.id)), 0);
	assert.equal(rowsOf(realm.id).secrets, 1);
});

for (const steps of STEPS) {
	test(`a purge that is killed after ${steps} parts leaves the realm deleted, and is gone on with`, async () => {
		const realm = await deletedRealm({ secrets: 9000 });
		const before = rowsOf(realm.id);
		const { signal, stderr } = spawnSync(process.execPath, [PROCESS, file, realm.id, String(steps)]);
		assert.equal(signal, "SIGKILL", stderr.toString());
		assert.deepEqual(rowsOf(realm.id), { ...before, secrets: 9000 - steps * 2000, versions: 9000 - steps * 2000 });
		assert.equal(await purgeAll(), 1);
		assert.deepEqual(rowsOf(realm.id), NONE);
		assert.ok(await isChainIntact(store));
	});
}

test("a realm's deletion removes nothing of its machines itself; the parts after it do, and others write between them", async () => {
	const contents = { machine_tokens: 2500, trusts: 250 };
	const realm = await filledRealm(contents);
	await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
	assert.partialDeepStrictEqual(rowsOf(realm.id), contents);
	let isOver = false;
	const ending = store.realms.endRestricted(realm.id).finally(() => {
		isOver = true;
	});
	let written = 0;
	for (; !isOver; written++) await store.audit.append(anEvent());
	assert.equal(await ending, 2750);
	assert.ok(written >= 5, `${written} writes`);
	assert.partialDeepStrictEqual(rowsOf(realm.id), { realm: 1, machine_tokens: 0, trusts: 0 });
});
