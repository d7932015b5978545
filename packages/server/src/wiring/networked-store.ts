import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../config.ts";
import { FatalError } from "../errors.ts";
import { type StoreState, textOf } from "../health/model.ts";
import type { Log } from "../log.ts";
import { readAddresses } from "../store/postgres/address.ts";
import { ConnectionLost } from "../store/postgres/connection.ts";
import { HISTORY_FILE } from "../store/postgres/history.ts";
import { openPostgresStore } from "../store/postgres/store.ts";
import { lockDataDirectory } from "../store/sqlite/files.ts";
import { hasDatabase, removeDraft } from "../store/sqlite/restored.ts";
import type { Store } from "../store/store.ts";
import { UnsuitableDatabase } from "../store/unsuitable.ts";
import { removeExamined } from "./networked-doctor.ts";

/** Exit codes: EX_UNAVAILABLE, after which a service manager tries again, and EX_CONFIG. */
const UNAVAILABLE = 69;
const REFUSED = 78;

/** Store to open, and its listener. */
export interface NetworkedOptions {
	config: Config;
	/** Start of the server. */
	now: Date;
	log: Log;
	/** Called once when the database cannot be used any more: the process must end. */
	onFailure(error: FatalError): void;
}

/**
 * Opens the store that `database_url` names, and takes the data directory for this server: certificate, keys and backups are there.
 * @throws FatalError saying what to do
 */
export async function openNetworkedStore({ config, now, log, onFailure }: NetworkedOptions): Promise<Store> {
	const { data_dir } = config;
	const addresses = () => readAddresses(config);
	refuseEmbedded(data_dir);
	const unlock = lockDataDirectory(data_dir);
	try {
		await removeExamined(data_dir);
		removeDraft(data_dir);
		const listeners = { onFailure, onState: reportTo(log) };
		const place = { addresses, history_file: join(data_dir, HISTORY_FILE), most_bytes: config.database?.bytes };
		const options = { ...place, now, isShared: true, ...listeners };
		const open = () => openPostgresStore(options);
		const store = await opened(open, log).catch(explain);
		return {
			...store,
			async close() {
				await store.close();
				unlock();
			},
		};
	} catch (error) {
		unlock();
		throw error;
	}
}

/** Refuses a data directory with a database of SQLite, which would be left unused. */
export function refuseEmbedded(data_dir: string): void {
	if (!hasDatabase(data_dir)) return;
	throw new FatalError(
		`${data_dir} has a database of SQLite, which database_url would leave unused: choose another data_dir, or move svc.db away`,
	);
}

function reportTo(log: Log): (state: StoreState) => void {
	return ({ status, reason }) => {
		if (reason === undefined) log("info", "database.back", { message: "PostgreSQL works again" });
		else log(status === "slow" ? "warn" : "error", `database.${status}`, { reason, message: textOf(reason) });
	};
}

/** Milliseconds for which a start waits for a database that is not there: after a power cut both start at once. */
const PATIENCE_MS = 60_000;
const AGAIN_MS = 500;

/** Opens the store; again while there is no database that could refuse. */
async function opened(open: () => Promise<Store>, log: Log): Promise<Store> {
	const until = performance.now() + PATIENCE_MS;
	for (let hasWaited = false; ; hasWaited = true) {
		try {
			return await open();
		} catch (error) {
			if (!isAway(error) || performance.now() > until) throw error;
			if (!hasWaited) log("warn", "database.awaited", { message: whyAwaited(error) });
			await delay(AGAIN_MS);
		}
	}
}

/** Codes of a database that does not run, cannot be reached, is starting, has no connection left, or where another program holds a lock. */
const AWAY = /^(ECONN|E(NET|HOST)UNREACH|ETIMEDOUT|ENOENT|EAI_AGAIN|57P03|53300|55P03|57014)/;

function isAway(error: unknown): boolean {
	const isUnusable = error instanceof ConnectionLost || error instanceof UnsuitableDatabase;
	return AWAY.test(codeOf(error)) || isUnusable || isTimeout(error);
}

function whyAwaited(error: unknown): string {
	return error instanceof UnsuitableDatabase ? error.message : `PostgreSQL does not answer yet (${codeOf(error)})`;
}

/** Tells whether the driver gave up: its error has no code. */
function isTimeout(error: unknown): boolean {
	return error instanceof Error && error.message === "timeout expired";
}

function codeOf(error: unknown): string {
	return error instanceof Error && "code" in error ? String(error.code) : "no answer";
}

/** Explains why the database could not be opened. Its own text stays unsaid: it may hold parts of the address. */
export function explain(cause: unknown): never {
	if (cause instanceof FatalError) throw cause;
	if (cause instanceof UnsuitableDatabase) throw new FatalError(cause.message, UNAVAILABLE, { cause });
	const hint = "check that PostgreSQL runs, and database_url with its user, password and certificate";
	throw new FatalError(
		`the database cannot be opened (${codeOf(cause)}): ${hint}`,
		isAway(cause) ? UNAVAILABLE : REFUSED,
		{ cause },
	);
}
