import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { checkBackup, type Sound } from "./backups/check.ts";
import { readManifest, UnsoundBackup } from "./backups/manifest.ts";
import type { Restore } from "./backups/model.ts";
import { type Config, readConfig } from "./config.ts";
import { openKeyring } from "./crypto/keyring.ts";
import { findStagedKey, requireMasterKey } from "./crypto/master-key.ts";
import type { RowKey } from "./crypto/row-macs.ts";
import { FatalError } from "./errors.ts";
import { hashFile } from "./file-hash.ts";
import {
	adoptDraft,
	adoptRestored,
	hasDatabase,
	markRestored,
	moveAside,
	removeDraft,
	restoringFile,
} from "./store/sqlite/restored.ts";
import { system } from "./system.ts";
import { adoptDatabase, inspectDatabase } from "./wiring/adoption.ts";
import { createChecker } from "./wiring/backups.ts";
import type { Loss } from "./wiring/networked-acceptance.ts";
import type { Migrated } from "./wiring/networked-migration.ts";
import type { NetworkedBackup, Restorable, Restored } from "./wiring/networked-restore.ts";
import { whileOffline } from "./wiring/offline-directory.ts";
import type { Adoptable } from "./wiring/offline-model.ts";
import { type Recoverable, type Recovered, recoverAccount } from "./wiring/recovery.ts";

/** Options of a restore, made on the server's machine while no server runs. */
export interface RestoreOptions {
	/** Moves an existing database aside. */
	replace: boolean;
	/** Asks for confirmation before anything changes. */
	confirm(found: Restorable): Promise<boolean>;
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
 * Replaces the database with a backup. An interruption leaves the old database or the restored one. On PostgreSQL it fills an empty database.
 * @returns what was restored; undefined when it was not confirmed
 * @throws UnsoundBackup, FatalError as verifyBackup; FatalError when a server runs, or a database exists and `replace` is not set
 */
export async function restoreBackup(
	config: Config,
	file: string,
	options: RestoreOptions,
): Promise<Restored | undefined> {
	const { found, row_keys } = await openBackup(config, file);
	const { data_dir } = config;
	return whileOffline(data_dir, async () => {
		adoptRestored(data_dir);
		if (hasDatabase(data_dir) && !options.replace) {
			throw new FatalError(`${data_dir} already has a database: --replace moves it aside under a dated name`);
		}
		if (hasDatabase(data_dir)) refuseUnsettledKey(config);
		const prepare = () => prepareDraft(data_dir, file, found, row_keys);
		if (config.database !== undefined) return await restoreNetworked(config, { found, row_keys, prepare }, options);
		if (!(await options.confirm({ ...found, into: data_dir }))) return undefined;
		const restore = await prepare();
		adoptDraft(data_dir, stampOf(restore));
		return { ...restore, into: data_dir };
	});
}

/** Fills the database that `database_url` names. One of SQLite in the data directory would be left unused: it is moved aside afterwards. */
async function restoreNetworked(
	config: Config,
	backup: NetworkedBackup,
	{ confirm }: RestoreOptions,
): Promise<Restored | undefined> {
	const { data_dir } = config;
	const { restoreIntoPostgres } = await import("./wiring/networked-restore.ts");
	try {
		const restored = await restoreIntoPostgres(config, backup, confirm);
		if (restored !== undefined) moveAside(data_dir, stampOf(restored));
		return restored;
	} finally {
		removeDraft(data_dir);
	}
}

/** Writes the time of a restore as part of a file's name. */
const stampOf = ({ restored_at }: Restore) => restored_at.replace(/\W/g, "");

/** Brings the schema of the database that `database_url` names up to date. @throws FatalError saying what to do */
export async function migrateDatabase(config: Config): Promise<Migrated> {
	const { migrateNetworked } = await import("./wiring/networked-migration.ts");
	return migrateNetworked(config);
}

/** Accepts that the database that `database_url` names has lost changes. @returns undefined when it was not confirmed @throws FatalError saying what to do */
export async function acceptLoss(config: Config, confirm: (loss: Loss) => Promise<boolean>): Promise<Loss | undefined> {
	if (config.database === undefined)
		throw new FatalError("`svc nodes accept-loss` is for PostgreSQL: give svc the settings of the server");
	const { acceptNetworkedLoss } = await import("./wiring/networked-acceptance.ts");
	return acceptNetworkedLoss(config, confirm);
}

/** Refuses while FILE.next may be the current database's only key: the restored one's start would take it for a rotation's remains and remove it. */
function refuseUnsettledKey(config: Config): void {
	const staged = findStagedKey(config);
	if (staged === undefined) return;
	throw new FatalError(
		`${staged} was left by an interrupted rotation of the master key, and may be the only key to the existing database: start the server once to finish the rotation, stop it, then restore`,
	);
}

/** Copies the database out of a backup, next to the current one, and marks it as restored. */
async function prepareDraft(
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
	const restore: Restore = {
		name: manifest.name,
		restored_at: system.now().toISOString(),
		epoch: manifest.restore_epoch + 1,
		events: manifest.events,
	};
	markRestored(draft, restore, row_keys);
	return restore;
}

export {
	type Adoptable,
	adoptDatabase,
	FatalError,
	inspectDatabase,
	type Loss,
	type Recoverable,
	type Recovered,
	type Restorable,
	readConfig,
	recoverAccount,
	type Sound,
	UnsoundBackup,
};
