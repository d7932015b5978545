import { createReadStream, createWriteStream, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Difference } from "./audit/model.ts";
import type { GrantingRows } from "./audit/rights.ts";
import { checkBackup, frozenKeys, type Sound } from "./backups/check.ts";
import { readManifest, UnsoundBackup } from "./backups/manifest.ts";
import type { Restore } from "./backups/model.ts";
import { type Config, readConfig } from "./config.ts";
import { openKeyring, rowKeysOf } from "./crypto/keyring.ts";
import { findStagedKey, requireMasterKey } from "./crypto/master-key.ts";
import type { RowKey } from "./crypto/row-macs.ts";
import { FatalError } from "./errors.ts";
import { hashFile } from "./file-hash.ts";
import { TLS_FILES } from "./http/tls-files.ts";
import { adoptRows, markAdopted, migrateCopy, wasAdopted } from "./store/sqlite/adopt.ts";
import { checkDataDirectory, DATABASE_FILES, lockDataDirectory } from "./store/sqlite/files.ts";
import { adoptDraft, adoptRestored, hasDatabase, markRestored, restoringFile } from "./store/sqlite/restored.ts";
import { refuseAlteredSchema } from "./store/sqlite/schema-alterations.ts";
import { openSnapshot, takeSnapshot } from "./store/sqlite/snapshots.ts";
import { system } from "./system.ts";
import { backUpBefore, createChecker } from "./wiring/backups.ts";

/** Options of a restore, made on the server's machine while no server runs. */
export interface RestoreOptions {
	/** Moves an existing database aside. */
	replace: boolean;
	/** Asks for confirmation before anything changes, given what will be restored. */
	confirm(found: Sound): Promise<boolean>;
}

/**
 * Checks a backup with the master key that the settings name. Changes nothing.
 * @throws UnsoundBackup saying what is wrong with it; FatalError naming the fingerprint of the master key that it needs
 */
export async function verifyBackup(config: Config, file: string): Promise<Sound> {
	return (await openBackup(config, file)).found;
}

/** Checks a backup, and finds the keys of its rows. */
async function openBackup(config: Config, file: string): Promise<{ found: Sound; row_keys: RowKey[] }> {
	const { manifest } = await readManifest(file);
	const { key } = await requireMasterKey(config, manifest.fingerprint);
	let row_keys: RowKey[] = [];
	const guard = async (keys: RowKey[]) => {
		row_keys = keys;
	};
	const checker = createChecker((keys) => openKeyring({ keys, guard, master: key.reveal(), system }), system);
	return { found: await checkBackup(checker, file), row_keys };
}

/**
 * Replaces the database with a backup. An interruption leaves the old database or the restored one.
 * @returns what was restored; undefined when it was not confirmed
 * @throws UnsoundBackup, FatalError as verifyBackup; FatalError when a server runs, or a database exists and `replace` is not set
 */
export async function restoreBackup(
	config: Config,
	file: string,
	options: RestoreOptions,
): Promise<Restore | undefined> {
	const { found, row_keys } = await openBackup(config, file);
	const { data_dir } = config;
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const unlock = lockDataDirectory(data_dir);
	try {
		adoptRestored(data_dir);
		if (hasDatabase(data_dir) && !options.replace) {
			throw new FatalError(`${data_dir} already has a database: --replace moves it aside under a dated name`);
		}
		if (hasDatabase(data_dir)) refuseUnsettledKey(config);
		if (!(await options.confirm(found))) return undefined;
		return await putInPlace(data_dir, file, found, row_keys);
	} finally {
		unlock();
	}
}

/** Refuses while FILE.next may be the current database's only key: the restored one's start would take it for a rotation's remains and remove it. */
function refuseUnsettledKey(config: Config): void {
	const staged = findStagedKey(config);
	if (staged === undefined) return;
	throw new FatalError(
		`${staged} was left by an interrupted rotation of the master key, and may be the only key to the existing database: start the server once to finish the rotation, stop it, then restore`,
	);
}

async function putInPlace(
	data_dir: string,
	file: string,
	{ manifest }: Sound,
	row_keys: readonly RowKey[],
): Promise<Restore> {
	const draft = restoringFile(data_dir);
	// Leaves out the manifest that follows the database.
	await pipeline(
		createReadStream(file, { end: manifest.bytes - 1 }),
		createWriteStream(draft, { mode: 0o600, flush: true }),
	);
	if ((await hashFile(draft)) !== manifest.sha256) {
		throw new UnsoundBackup(
			"it was changed while it was read, or the data directory's disk does not keep what is written",
		);
	}
	const now = system.now().toISOString();
	const restore: Restore = {
		name: manifest.name,
		restored_at: now,
		epoch: manifest.restore_epoch + 1,
		events: manifest.events,
	};
	markRestored(draft, restore, row_keys);
	adoptDraft(data_dir, now.replace(/\W/g, ""));
	return restore;
}

/** Rows that an adoption would believe, for a person to look at. */
export interface Adoptable {
	rows: GrantingRows;
	/** Rows that grant something else than the log says. */
	differences: Difference[];
}

/** Options of an adoption, made on the server's machine while no server runs. */
export interface AdoptionOptions {
	/** Believes again what was adopted before. */
	again: boolean;
	/** Asks for confirmation before anything changes. */
	confirm(found: Adoptable): Promise<boolean>;
}

/**
 * Believes the database as it is: one from before its rows authenticated themselves, or one that another program altered. A backup is made first.
 * @returns the number of rows, and the backup; undefined when it was not confirmed
 * @throws FatalError when a server runs, there is nothing to adopt, the master key is another one, or it was adopted before and `again` is not set
 */
export async function adoptDatabase(
	config: Config,
	{ again, confirm }: AdoptionOptions,
): Promise<{ rows: number; backup: string } | undefined> {
	const { data_dir } = config;
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const unlock = lockDataDirectory(data_dir);
	const file = join(data_dir, "svc.db");
	try {
		adoptRestored(data_dir);
		if (!hasDatabase(data_dir)) throw new FatalError(`${data_dir} has no database: start the server to make one`);
		if (wasAdopted(data_dir) && !again) {
			throw new FatalError("the database was adopted before: --again believes it once more, as it is now");
		}
		refuseAlteredSchema(file);
		const { facts, keys, found } = await lookAt(data_dir, file);
		const { key } = await requireMasterKey(config, facts.fingerprint ?? "");
		await openKeyring({ keys: frozenKeys(facts.fingerprint, keys), master: key.reveal(), system });
		if (!(await confirm(found))) return undefined;
		const backup = await backUpBefore({ config, system }, "adoption", (to) => takeSnapshot(file, to));
		const event = {
			timestamp: system.now().toISOString(),
			type: "rows.adopted",
			actor: "system",
			realm_id: "",
			realm: "",
			data: { backup, again },
		} as const;
		const rows = adoptRows(file, (shared) => rowKeysOf(key.reveal(), shared, system), event);
		markAdopted(data_dir, event.timestamp);
		return { rows, backup };
	} finally {
		unlock();
	}
}

/** Looks at a copy with today's schema. */
async function lookAt(data_dir: string, file: string) {
	const draft = join(data_dir, "svc.db.adopting");
	const remove = () => {
		for (const part of ["", "-wal", "-shm"]) rmSync(`${draft}${part}`, { force: true });
	};
	remove();
	try {
		writeFileSync(draft, "", { mode: 0o600 });
		await takeSnapshot(file, draft);
		migrateCopy(draft, system.now().toISOString());
		const snapshot = openSnapshot(draft);
		const [facts, keys, rows, differences] = await Promise.all([
			snapshot.facts(),
			snapshot.keys(),
			snapshot.rights(),
			snapshot.audit.differences(),
		]).finally(() => snapshot.close());
		return { facts, keys, found: { rows, differences } };
	} finally {
		remove();
	}
}

export { FatalError, type Restore, readConfig, type Sound, UnsoundBackup };
