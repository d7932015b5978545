import fs, { existsSync, readdirSync, statSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { makeBackup } from "../backups/make.ts";
import { readConfig } from "../config.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { loadMasterKey } from "../crypto/master-key.ts";
import { restoreBackup } from "../offline.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import { system } from "../system.ts";
import { adoptDatabase } from "../wiring/adoption.ts";
import { wireBackups } from "../wiring/backups.ts";

/** The process's task with a data directory: make a backup of it, restore a file into it, or adopt its database. */
export type BackupTask = "make" | "restore" | "adopt";

const [directory = "", task = "", target = "", file = ""] = process.argv.slice(2);

/** Ends the process like a power cut: nothing after it runs. */
function die(): never {
	process.kill(process.pid, "SIGKILL");
	for (;;);
}

let steps = 0;

/** Counts the changes of files; the process dies before the one that it was given. */
function step(): void {
	if (String(++steps) === target) die();
}

const CHANGES = ["open", "rename", "rm"] as const;
const CHANGES_AT_ONCE = ["openSync", "renameSync", "rmSync", "mkdirSync", "fsyncSync"] as const;

/** From now on counts calls of functions that change files, and writes and syncs of opened files. */
function watchFiles(): void {
	for (const name of CHANGES) {
		const change = promises[name] as (...args: unknown[]) => Promise<unknown>;
		promises[name] = (async (...args: unknown[]) => {
			step();
			return watched(await change(...args));
		}) as never;
	}
	for (const name of CHANGES_AT_ONCE) {
		const change = fs[name] as (...args: unknown[]) => unknown;
		fs[name] = ((...args: unknown[]) => {
			step();
			return change(...args);
		}) as never;
	}
	syncBuiltinESMExports();
}

function watched(opened: unknown): unknown {
	const handle = opened as promises.FileHandle | undefined;
	for (const name of ["write", "sync"] as const) {
		const change = handle?.[name].bind(handle) as ((...args: unknown[]) => Promise<unknown>) | undefined;
		if (handle !== undefined && change !== undefined) {
			handle[name] = (async (...args: unknown[]) => {
				step();
				return change(...args);
			}) as never;
		}
	}
	return opened;
}

/** Dies while the thread copies: as soon as any of the copy exists. */
function dieInCopy(): void {
	const folder = join(directory, "backups");
	const drafts = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".new")) : [];
	if (drafts.some((name) => statSync(join(folder, name)).size > 0)) die();
	setImmediate(dieInCopy);
}

async function main(): Promise<void> {
	const config = readConfig({ SVC_DATA_DIR: directory }, directory);
	if (task === "restore") {
		watchFiles();
		await restoreBackup(config, file, { replace: true, confirm: async () => true });
	} else if (task === "adopt") {
		watchFiles();
		await adoptDatabase(config, { again: true, confirm: async () => true });
	} else {
		const store = await openSqliteStore({ directory, now: system.now(), onFailure: die });
		const { key } = await loadMasterKey(config, await store.keys.fingerprint(), system);
		const keyring = await openKeyring({ keys: store.keys, guard: store.guard, master: key.reveal(), system });
		watchFiles();
		if (target === "in the copy") dieInCopy();
		await makeBackup(wireBackups({ config, store, keyring, system }), "svc", system.now());
		await store.close();
	}
}

if (import.meta.main) await main();
