import { proveLog } from "../audit/proof.ts";
import type { Snapshot } from "../backups/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { type StoreState, troubleOf } from "../health/model.ts";
import type { Semaphore } from "../semaphore.ts";
import { type Check, ok } from "./model.ts";

/** The database as the doctor looks at it. */
export type OpenDatabase = Pick<
	Snapshot,
	"audit" | "checkQuickly" | "inspect" | "compare" | "checkIntegrity" | "sealed" | "close"
>;

/** Dependencies of examining the database. */
export interface DatabaseNeeds {
	keyring: Pick<Keyring, "checkpoint" | "rows">;
	/** Opens the live database in addition to the server's own connections. */
	openDatabase(): OpenDatabase;
	/** Lets one examination of the database run at a time: each has its own thread and reads all of it. */
	oneAtATime: Semaphore["run"];
}

/** Dependencies of examining the database's pages. */
export interface PageNeeds extends DatabaseNeeds {
	/** True where PostgreSQL keeps the pages, and its own programs check them. */
	is_networked: boolean;
	/** Tells whether the server signs in to its database as a superuser. */
	isSuperuser(): Promise<boolean>;
	storeState(): StoreState;
}

const ADOPT = "stop the server and look at it with `svc adopt --again`, or restore a backup: `svc restore --help`";
const REPAIR = "stop the server, keep a copy of the data directory, and restore a backup: `svc restore --help`";

/** Checks the database's pages; with `deep` its indexes and references, too. */
export async function checkDatabase(needs: PageNeeds, deep: boolean, signal: AbortSignal): Promise<Check[]> {
	if (needs.is_networked)
		return [
			...checkState(needs),
			ok("database", "PostgreSQL keeps its pages and indexes: `pg_amcheck` checks them"),
			...(await checkRole(needs)),
		];
	const inspect = (database: OpenDatabase) => (deep ? database.inspect() : database.checkQuickly());
	const problems = await withDatabase(needs, signal, inspect).catch(asProblem);
	if (problems.length === 0)
		return [ok("database", deep ? "every page, index and reference is sound" : "every page is sound")];
	const message = `the database is damaged: ${problems.length === 1 ? "one problem" : `${problems.length} problems`} or more`;
	return [{ name: "database", status: "failed", message, hint: REPAIR }];
}

/** Reports a database that does not work, or is slow. */
function checkState({ storeState }: PageNeeds): Check[] {
	const state = storeState();
	const trouble = troubleOf(state);
	return trouble ? [{ name: "database", status: state.status === "slow" ? "warning" : "failed", ...trouble }] : [];
}

async function checkRole({ isSuperuser }: PageNeeds): Promise<Check[]> {
	if (!(await isSuperuser())) return [];
	const message = "the server signs in to PostgreSQL as a superuser, who may change the log and every database";
	return [
		{ name: "database", status: "warning", message, hint: "make roles with fewer rights: `svc database roles --help`" },
	];
}

/** Reports a database that is too damaged to be examined. */
function asProblem(error: unknown): string[] {
	const code = error instanceof Error && "code" in error ? String(error.code) : "";
	if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return [code];
	throw error;
}

/** Checks that the audit log is as it was written, as far as the checkpoints stored with it can tell. */
export async function checkLog(needs: DatabaseNeeds, signal: AbortSignal): Promise<Check[]> {
	const { report, checkpoints } = await withDatabase(needs, signal, ({ audit }) =>
		proveLog(audit, needs.keyring, undefined),
	);
	const { status, events, seq = 0 } = report;
	if (status === "intact") {
		const confirmed = checkpoints === 1 ? "1 signed checkpoint confirms" : `${checkpoints} signed checkpoints confirm`;
		return [ok("audit", `all ${events} events are unaltered, as ${confirmed}`)];
	}
	const message =
		status === "altered" ? `the log was altered at event ${seq}` : `the log ends before event ${seq}: it was truncated`;
	return [{ name: "audit", status: "failed", message, hint: "compare the log with a backup: `svc backup list`" }];
}

/** Checks that no other program wrote rows. It reads every row. */
export async function checkRows(needs: DatabaseNeeds, signal: AbortSignal): Promise<Check[]> {
	const { access, content } = await withDatabase(needs, signal, ({ checkIntegrity }) =>
		byRowKeys(needs, checkIntegrity),
	);
	const found = [...access, ...content];
	if (found.length === 0) return [ok("rows", "every row is as the server left it")];
	const message = `another program altered the database: ${found.join(", ")}`;
	return [{ name: "rows", status: "failed", message, hint: ADOPT }];
}

/** Checks rows against the log, which it reads whole. */
export async function checkRights(needs: DatabaseNeeds, signal: AbortSignal): Promise<Check[]> {
	const { differences, strange, named_from } = await withDatabase(needs, signal, ({ compare }) =>
		byRowKeys(needs, compare),
	);
	const [rows, events] = [differences.length, strange.length];
	if (rows + events === 0) {
		const from =
			named_from === undefined || named_from.seq === 1 ? "" : `; it names them from event ${named_from.seq} on`;
		return [ok("rights", `accounts, roles, tokens and settings are as the audit log says${from}`)];
	}
	const found = [
		...(rows === 0
			? []
			: [`${rows === 1 ? "one row grants" : `${rows} rows grant`} something other than the audit log says`]),
		...(events === 0
			? []
			: [
					`${events === 1 ? "one event names" : `${events} events name`} an account, token or session that did not exist`,
				]),
	];
	const message = `${found.join(", and ")}: another program altered the database`;
	return [{ name: "rights", status: "failed", message, hint: "`svc audit verify` names them" }];
}

type RowKeys = ReturnType<Keyring["rows"]>;

/** Asks by the keys of rows; again when meanwhile there was one more, which may have made what does not fit the others. */
async function byRowKeys<Found>(
	{ keyring }: Pick<DatabaseNeeds, "keyring">,
	ask: (keys: RowKeys) => Promise<Found>,
): Promise<Found> {
	const keys = keyring.rows();
	const found = await ask(keys);
	const isKnown = ({ id }: RowKeys[number]) => keys.some((key) => Buffer.compare(key.id, id) === 0);
	return keyring.rows().every(isKnown) ? found : byRowKeys({ keyring }, ask);
}

/** Examines the database in a thread that ends with the work or its time limit; starts none if the time ran out before its turn. */
export function withDatabase<Found>(
	{ openDatabase, oneAtATime }: DatabaseNeeds,
	signal: AbortSignal,
	inspect: (database: OpenDatabase) => Promise<Found>,
): Promise<Found> {
	return oneAtATime(async () => {
		signal.throwIfAborted();
		const database = openDatabase();
		const close = () => void database.close();
		signal.addEventListener("abort", close, { once: true });
		try {
			return await inspect(database);
		} finally {
			signal.removeEventListener("abort", close);
			await database.close();
		}
	});
}
