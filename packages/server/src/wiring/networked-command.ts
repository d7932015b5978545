import { join } from "node:path";
import type { Config } from "../config.ts";
import { FatalError } from "../errors.ts";
import { TLS_FILES } from "../http/tls-files.ts";
import { type Address, nameOf, readAddresses } from "../store/postgres/address.ts";
import { claimDatabase } from "../store/postgres/claim-database.ts";
import { type Connection, ConnectionLost } from "../store/postgres/connection.ts";
import { HISTORY_FILE, requireWritable } from "../store/postgres/history.ts";
import { reachDatabase } from "../store/postgres/hosts.ts";
import { openPostgresStore } from "../store/postgres/store.ts";
import { checkDataDirectory, DATABASE_FILES, lockDataDirectory } from "../store/sqlite/files.ts";
import { system } from "../system.ts";
import { explain, refuseEmbedded } from "./networked-store.ts";
import type { OfflineStore } from "./offline-model.ts";

/**
 * Runs a command on the database that `database_url` names, which it has for itself meanwhile.
 * @param lost what to do where the connection was lost
 * @throws FatalError when the database cannot be used, a server uses it, or it refuses something
 */
export async function onDatabase<Result>(
	config: Config,
	lost: string,
	use: (connection: Connection, address: Address) => Promise<Result>,
): Promise<Result> {
	const { address, connection } = await reachDatabase(readAddresses(config), requireWritable).catch(explain);
	try {
		await claimDatabase(connection, "alone");
		return await use(connection, address);
	} catch (error) {
		throw explainRefusal(error, lost);
	} finally {
		await connection.close();
	}
}

/** Codes of PostgreSQL's own errors, and the one of a role that lacks a right. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
const DENIED = "42501";

/** Explains a refusal by the database, without its own text, which may hold parts of a row. */
function explainRefusal(cause: unknown, lost: string): unknown {
	if (cause instanceof ConnectionLost)
		return new FatalError(`the connection to the database was lost: ${lost}`, undefined, { cause });
	const { code } = cause as { code?: string };
	if (cause instanceof FatalError || code === undefined || !SQLSTATE.test(code)) return cause;
	const hint = code === DENIED ? ": name the role that owns the tables in database_url" : "";
	return new FatalError(`the database refused it (${code}), nothing was changed${hint}`, undefined, { cause });
}

/**
 * Opens the store that `database_url` names for a command, while no server uses it. It has every migration, or is refused.
 * @throws FatalError saying what to do
 */
export async function openNetworkedOffline(
	config: Config,
	onFailure: (error: FatalError) => void,
): Promise<OfflineStore> {
	const { data_dir } = config;
	const addresses = readAddresses(config);
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	refuseEmbedded(data_dir);
	const unlock = lockDataDirectory(data_dir);
	try {
		const place = { addresses: () => addresses, history_file: join(data_dir, HISTORY_FILE) };
		const opening = openPostgresStore({ ...place, now: system.now(), pending: "refuse", onFailure });
		const { address, compareHistory: _, ...store } = await opening.catch(explain);
		const close = async () => {
			await store.close();
			unlock();
		};
		return { store: { ...store, close }, place: nameOf(address()) };
	} catch (error) {
		unlock();
		throw error;
	}
}
