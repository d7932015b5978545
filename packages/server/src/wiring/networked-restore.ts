import type { Sound } from "../backups/check.ts";
import type { Restore } from "../backups/model.ts";
import type { Config } from "../config.ts";
import { createRowMacs, type RowKey } from "../crypto/row-macs.ts";
import { FatalError } from "../errors.ts";
import { nameOf, readAddress } from "../store/postgres/address.ts";
import { claimDatabase } from "../store/postgres/claim-database.ts";
import { type Connection, ConnectionLost, connect } from "../store/postgres/connection.ts";
import { migrate } from "../store/postgres/migrate.ts";
import { isEmpty, loadFromSqlite, notEmpty } from "../store/postgres/sqlite-load.ts";
import { migrateCopy } from "../store/sqlite/adopt.ts";
import { openRawRows } from "../store/sqlite/raw-rows.ts";
import { restoringFile } from "../store/sqlite/restored.ts";
import { system } from "../system.ts";
import { explain } from "./networked-store.ts";

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
	const address = readAddress(config);
	const into = nameOf(address);
	if (row_keys.length === 0)
		throw new FatalError(
			"the backup is from before its rows authenticated themselves: restore it without database_url, adopt it with `svc adopt`, and restore a backup of that",
		);
	const connection = await connect(address).catch(explain);
	try {
		await claimDatabase(connection, false);
		if (!(await isEmpty(connection))) throw notEmpty();
		if (!(await confirm({ ...found, into }))) return undefined;
		const restore = await prepare();
		const file = restoringFile(config.data_dir);
		migrateCopy(file, restore.restored_at);
		await load(connection, file, row_keys);
		return { ...restore, into };
	} catch (error) {
		throw explainRefusal(error);
	} finally {
		await connection.close();
	}
}

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

/** Explains what the database refused. Its own text stays unsaid: it may hold parts of a row. */
function explainRefusal(cause: unknown): unknown {
	if (cause instanceof ConnectionLost) {
		const next = "run the command again; if it then says that the database is not empty, everything was restored";
		return new FatalError(`the connection to the database was lost: ${next}`, undefined, { cause });
	}
	const { code } = cause as { code?: string };
	if (cause instanceof FatalError || code === undefined || !SQLSTATE.test(code)) return cause;
	const hint = code === DENIED ? ": name the role that owns the database in database_url" : "";
	return new FatalError(`nothing was restored, the database refused it (${code})${hint}`, undefined, { cause });
}

/** Codes of PostgreSQL's own errors, and the one of a role that lacks a right. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
const DENIED = "42501";
