import { proveLog } from "../audit/proof.ts";
import type { Copy } from "../backups/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { type Check, ok } from "./model.ts";

/** What looking at the database needs. */
export interface DatabaseNeeds {
	keyring: Pick<Keyring, "checkpoint">;
	/** Opens the live database beside the server's own connections. */
	openDatabase(): Pick<Copy, "audit" | "glance" | "inspect" | "close">;
}

const REPAIR = "stop the server, keep a copy of the data directory, and restore a backup: `svc restore --help`";

/** Whether the database's pages are sound; with `deep` its indexes and references, too. */
export async function lookAtDatabase(needs: DatabaseNeeds, deep: boolean, signal: AbortSignal): Promise<Check[]> {
	const problems = await withDatabase(needs, signal, (database) => (deep ? database.inspect() : database.glance()));
	if (problems.length === 0)
		return [ok("database", deep ? "every page, index and reference is sound" : "every page is sound")];
	const message = `the database is damaged: ${problems.length} or more problems`;
	return [{ name: "database", status: "failed", message, hint: REPAIR }];
}

/** Whether the audit log is as it was written, as far as the checkpoints beside it can tell. */
export async function lookAtLog(needs: DatabaseNeeds, signal: AbortSignal): Promise<Check[]> {
	const { report, checkpoints } = await withDatabase(needs, signal, ({ audit }) =>
		proveLog(audit, needs.keyring, undefined),
	);
	const { status, events, seq = 0 } = report;
	if (status === "intact")
		return [
			ok("audit", `all ${events} events are as they were written; ${checkpoints} signed checkpoints vouch for it`),
		];
	const message =
		status === "altered" ? `the log was altered at event ${seq}` : `the log ends before event ${seq}: it was cut off`;
	return [{ name: "audit", status: "failed", message, hint: "compare the log with a backup: `svc backup list`" }];
}

/** Its thread ends with the work, or with the time for it. */
async function withDatabase<Found>(
	{ openDatabase }: DatabaseNeeds,
	signal: AbortSignal,
	look: (database: ReturnType<DatabaseNeeds["openDatabase"]>) => Promise<Found>,
): Promise<Found> {
	const database = openDatabase();
	const close = () => void database.close();
	signal.addEventListener("abort", close, { once: true });
	try {
		return await look(database);
	} finally {
		signal.removeEventListener("abort", close);
		await database.close();
	}
}
