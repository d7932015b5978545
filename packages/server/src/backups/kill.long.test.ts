import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { readConfig } from "../config.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { loadMasterKey } from "../crypto/master-key.ts";
import { verifyBackup } from "../offline.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { system } from "../system.ts";
import type { BackupTask } from "../testing/backup-process.ts";
import { ACCOUNTS, makeBackedUp } from "../testing/backups.ts";
import { makeFolder, openTestStore } from "../testing/store.ts";

const PROCESS = join(import.meta.dirname, "../testing/backup-process.ts");
/** More steps than any task has: a loop that gets there does not die where it should. */
const MOST_STEPS = 60;
/** The same for an adoption, which makes a copy and a backup first. */
const MOST_STEPS_OF_ADOPTION = 150;
/** Steps between two restores or adoptions that are repeated. */
const EVERY = 3;
process.umask(0o077);
const compiled = await makeFolder({ after });

const server = await makeBackedUp({ after });
const images = await makeFolder({ after });

function start(directory: string, task: BackupTask, target: string) {
	return spawn(process.execPath, [PROCESS, directory, task, target, server.backup], {
		stdio: ["ignore", "ignore", "pipe"],
		env: { NODE_COMPILE_CACHE: compiled },
	});
}

/** @returns the signal that ended it, and its error output */
async function run(directory: string, task: BackupTask, target: string): Promise<[signal: unknown, said: string]> {
	const child = start(directory, task, target);
	let said = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		said += text;
	});
	const [, signal] = await once(child, "close");
	return [signal, said];
}

async function imageOf(title: string): Promise<string> {
	const directory = join(images, title);
	await mkdir(directory, { mode: 0o700 });
	await cp(server.directory, directory, { recursive: true, preserveTimestamps: true });
	return directory;
}

/** Asserts that every file with a backup's name opens and is sound. @returns their number */
async function countSound(directory: string, where: string): Promise<number> {
	const folder = join(directory, "backups");
	const names = (await readdir(folder)).filter((name) => name.endsWith(".db"));
	const config = readConfig({ SVC_DATA_DIR: directory }, directory);
	for (const name of names) {
		await assert.doesNotReject(verifyBackup(config, join(folder, name)), `killed ${where}: ${name}`);
	}
	return names.length;
}

/** Lists the accounts after a start on what is left. */
async function accountsOf(directory: string): Promise<string[]> {
	const cleanups: (() => Promise<void>)[] = [];
	const { store, failures } = await openTestStore({ after: (clean) => cleanups.push(clean) }, directory, false);
	const { key } = await loadMasterKey(readConfig({ SVC_DATA_DIR: directory }, directory), undefined, system);
	await openKeyring({ keys: store.keys, guard: store.guard, master: key.reveal(), system });
	assert.deepEqual([await store.health.alterations(), await store.checkIntegrity()], [[], { access: [], content: [] }]);
	const found = await Promise.all(ACCOUNTS.map((email) => store.accounts.byEmail(email)));
	const { status } = await store.audit.verify([]);
	for (const clean of cleanups) await clean();
	assert.deepEqual([status, failures], ["intact", []]);
	return ACCOUNTS.filter((_, index) => found[index] !== undefined);
}

test("a backup that is killed before any change of a file leaves nothing unsound with a name, and the next one works", async () => {
	const directory = await imageOf("make");
	let died = 0;
	for (const target of ["in the copy", ...Array.from({ length: MOST_STEPS }, (_, index) => String(index + 1))]) {
		const before = await countSound(directory, target);
		const [signal, said] = await run(directory, "make", target);
		const made = (await countSound(directory, target)) - before;
		if (signal === null) {
			assert.deepEqual([said, made], ["", 1]);
			break;
		}
		died++;
		assert.ok(made === 0 || made === 1);
	}
	assert.deepEqual(
		(await readdir(join(directory, "backups"))).filter((name) => name.endsWith(".new")),
		[],
	);
	assert.ok(died > 5 && died < MOST_STEPS, `it died ${died} times`);
});

test("a restore that is killed before any change of a file leaves the old database or the restored one, and can be repeated", async () => {
	const left = new Set<number>();
	let died = 0;
	for (let target = 1; target <= MOST_STEPS; target++) {
		const directory = await imageOf(`restore-${target}`);
		const [signal, said] = await run(directory, "restore", String(target));
		const accounts = await accountsOf(directory);
		assert.equal(accounts[0], ACCOUNTS[0]);
		if (signal === null) {
			assert.deepEqual([said, accounts], ["", [ACCOUNTS[0]]]);
			break;
		}
		died++;
		left.add(accounts.length);
		if (target % EVERY !== 0) continue;
		assert.deepEqual(await run(directory, "restore", "never"), [null, ""]);
		assert.deepEqual(await accountsOf(directory), [ACCOUNTS[0]]);
	}
	assert.deepEqual(left, new Set([2, 1]), "the old one first, then the restored one");
	assert.ok(died > 5 && died < MOST_STEPS, `it died ${died} times`);
});

/** Alters the database as another program does. */
function forge(directory: string): void {
	const db = openWriter(join(directory, "svc.db"));
	db.exec("UPDATE account SET disabled_at = '2030-01-01T00:00:00.000Z'");
	db.close();
}

test("an adoption that is killed before any change of a file leaves a database that can be adopted", async () => {
	let died = 0;
	for (let target = 1; target <= MOST_STEPS_OF_ADOPTION; target += EVERY) {
		const directory = await imageOf(`adopt-${target}`);
		forge(directory);
		const [signal, said] = await run(directory, "adopt", String(target));
		if (signal !== null) assert.deepEqual(await run(directory, "adopt", "never"), [null, ""]);
		assert.deepEqual(await accountsOf(directory), ACCOUNTS);
		if (signal === null) {
			assert.equal(said, "");
			break;
		}
		died++;
	}
	assert.ok(died > 5 && died < MOST_STEPS_OF_ADOPTION / EVERY, `it died ${died} times`);
});

/** Rows whose adoption changes far more pages than SQLite keeps in memory: it writes the others to its log before the commit. */
const MANY_ROWS = 100_000;

/** Adds rows, as another program does. */
function addRows(directory: string): void {
	const db = openWriter(join(directory, "svc.db"));
	db.prepare(
		`INSERT INTO known_source (pair, user_id, seen_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT randomblob(32), (SELECT min(id) FROM account), '2030-01-01T00:00:00.000Z' FROM n`,
	).run(MANY_ROWS);
	db.close();
}

/** Kills an adoption once SQLite's log has so many bytes. @returns the signal that ended it */
async function adoptUntil(directory: string, bytes: number): Promise<unknown> {
	const log = join(directory, "svc.db-wal");
	const child = start(directory, "adopt", "never");
	const ended = once(child, "close");
	while (child.exitCode === null && child.signalCode === null) {
		if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) >= bytes) child.kill("SIGKILL");
		await delay(1);
	}
	const [, signal] = await ended;
	return signal;
}

/** Counts the rows that have no MAC, and the events of adoptions. */
function adoptedIn(directory: string): unknown {
	const db = openWriter(join(directory, "svc.db"));
	const count = (from: string) => db.prepare(`SELECT count(*) FROM ${from}`).pluck().get();
	try {
		return [count("known_source WHERE mac IS NULL"), count("audit_event WHERE type = 'rows.adopted'")];
	} finally {
		db.close();
	}
}

test("an adoption that is killed inside its transaction changes nothing, and can be repeated", async () => {
	const directory = await imageOf("adopt-many");
	addRows(directory);
	for (const mebibytes of [0.1, 8, 16]) {
		assert.equal(await adoptUntil(directory, mebibytes * 1024 * 1024), "SIGKILL");
		assert.deepEqual(adoptedIn(directory), [MANY_ROWS, 0], `killed after ${mebibytes} MiB`);
	}
	assert.deepEqual(await run(directory, "adopt", "never"), [null, ""]);
	assert.deepEqual(await accountsOf(directory), ACCOUNTS);
});
