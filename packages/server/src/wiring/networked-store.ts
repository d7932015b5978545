import type { Config } from "../config.ts";
import { FatalError } from "../errors.ts";
import type { Log } from "../log.ts";
import { readAddress } from "../store/postgres/address.ts";
import { UNAVAILABLE } from "../store/postgres/admission.ts";
import { openPostgresStore } from "../store/postgres/store.ts";
import { lockDataDirectory } from "../store/sqlite/files.ts";
import { hasDatabase } from "../store/sqlite/restored.ts";
import type { Store, StoreState } from "../store/store.ts";

/**
 * Opens the store that `database_url` names, and takes the data directory for this server: certificate, keys and backups are there.
 * @throws FatalError saying what to do
 */
export async function openNetworkedStore(
	config: Config,
	now: Date,
	log: Log,
	onFailure: (error: FatalError) => void,
): Promise<Store> {
	const { data_dir } = config;
	const address = readAddress(config);
	if (hasDatabase(data_dir))
		throw new FatalError(
			`${data_dir} has a database of SQLite, which database_url would leave unused: choose another data_dir, or move svc.db away`,
		);
	const unlock = lockDataDirectory(data_dir);
	try {
		const store = await openPostgresStore({ address, now, onFailure, onState: reportTo(log) }).catch(explain);
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

function reportTo(log: Log): (state: StoreState) => void {
	return ({ status }) => {
		if (status === "away")
			log("error", "database.away", { message: "PostgreSQL does not answer: requests get 503 until it does" });
		else log("info", "database.back", { message: "PostgreSQL answers again" });
	};
}

/** Explains why the database could not be opened. Its own text stays unsaid: it may hold parts of the address. */
function explain(cause: unknown): never {
	if (cause instanceof FatalError) throw cause;
	const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no answer";
	throw new FatalError(
		`the database cannot be opened (${code}): check that PostgreSQL runs, and database_url with its user, password and certificate`,
		UNAVAILABLE,
		{ cause },
	);
}
