import type { Sound } from "../backups/check.ts";
import type { Restore } from "../backups/model.ts";
import type { Config } from "../config.ts";
import { createRowMacs, type RowKey } from "../crypto/row-macs.ts";
import { FatalError } from "../errors.ts";
import { nameOf } from "../store/postgres/address.ts";
import type { Connection } from "../store/postgres/connection.ts";
import { migrate } from "../store/postgres/migrate.ts";
import { isEmpty, loadFromSqlite, notEmpty } from "../store/postgres/sqlite-load.ts";
import { migrateCopy } from "../store/sqlite/adopt.ts";
import { openRawRows } from "../store/sqlite/raw-rows.ts";
import { restoringFile } from "../store/sqlite/restored.ts";
import { system } from "../system.ts";
import { onDatabase } from "./networked-command.ts";

/** A backup that was found sound. */
export interface NetworkedBackup {
	found: Sound;
	/** Keys of its rows, the active one first. */
	row_keys: readonly RowKey[];
	/** Writes its database, marked as restored, into the data directory. */
	prepare(): Promise<Restore>;
}

/** A backup to restore, for a person to look at. */
export interface Restorable extends Sound {
	/** Data directory, or address of the database without its password. */
	into: string;
}

/** A restore that was made. */
export interface Restored extends Restore {
	/** Data directory, or address of the database without its password. */
	into: string;
}

/**
 * Fills the empty database that `database_url` names with a backup. An interruption leaves it empty.
 * @returns undefined when it was not confirmed
 * @throws FatalError when the database cannot be used, is in use, or is not empty
 */
export async function restoreIntoPostgres(
	config: Config,
	{ found, row_keys, prepare }: NetworkedBackup,
	confirm: (found: Restorable) => Promise<boolean>,
): Promise<Restored | undefined> {
	if (row_keys.length === 0)
		throw new FatalError(
			"the backup is from before its rows authenticated themselves: restore it without database_url, adopt it with `svc adopt`, and restore a backup of that",
		);
	return onDatabase(config, LOST, async (connection, address) => {
		const into = nameOf(address);
		if (!(await isEmpty(connection))) throw notEmpty();
		if (!(await confirm({ ...found, into }))) return undefined;
		const restore = await prepare();
		const file = restoringFile(config.data_dir);
		migrateCopy(file, restore.restored_at);
		await load(connection, file, row_keys);
		return { ...restore, into };
	});
}

const LOST = "run the command again; if it then says that the database is not empty, everything was restored";

async function load(connection: Connection, file: string, row_keys: readonly RowKey[]): Promise<void> {
	const source = openRawRows(file);
	try {
		const findAlterations = await migrate(connection, system.now().toISOString());
		const macs = createRowMacs(row_keys, system.randomBytes);
		await loadFromSqlite(connection, { source, macs, findAlterations });
	} finally {
		source.close();
	}
}
