import type { Database } from "better-sqlite3";
import { type Chain, type ChainEnd, createChain, GENESIS } from "../../audit/chain.ts";
import type { IntegrityReport } from "../../backups/model.ts";
import type { RowMacs } from "../../crypto/row-macs.ts";
import { ROW_KINDS, type RowSum, type RowTable } from "../row-kinds.ts";
import { differingSums, noRows, openTipBox, type RowState, type Tip, tipSealer } from "../row-ledger.ts";
import { ANYTHING } from "../shared-sql.ts";
import { blockWriter } from "./audit-blocks.ts";
import { areLeasesCounted } from "./lease-counts.ts";
import { areRealmsCounted } from "./realm-counts.ts";
import { guardWrites, newestId, sumUp } from "./row-guard.ts";
import { schemaAlterations } from "./schema-alterations.ts";
import { hasNextNumber } from "./secret-numbers.ts";

/** First of the numbers that no log reaches: at least 2^32 remain for later events. */
const UNREACHED = Number.MAX_SAFE_INTEGER - 2 ** 32;

/** Opens the chain at the newest event that others can follow: an event that another program put near the end of all numbers is not part of it. */
export function openChain(db: Database): Chain {
	const newest = db.prepare(`SELECT seq, hash FROM audit_event WHERE seq < ${UNREACHED} ORDER BY seq DESC LIMIT 1`);
	const insert = db.prepare(
		"INSERT INTO audit_event (seq, timestamp, type, actor, realm_id, realm, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	);
	const { seq, hash } = (newest.get() as ChainEnd | undefined) ?? { seq: 0, hash: GENESIS };
	// Another program may have left anything in place of a hash: then the log does not end as the tip says.
	const start = { seq, hash: Buffer.isBuffer(hash) ? hash : GENESIS };
	return createChain(start, ({ seq, timestamp, type, actor, realm_id, realm, data, hash }) => {
		insert.run(seq, timestamp, type, actor, realm_id, realm, data, hash);
	});
}

const BOTH: readonly RowSum[] = ["access", "content"];

/** Reads the tip; undefined when it was altered, or another program added a second one. */
function readTip(db: Database, macs: RowMacs): Tip | undefined {
	const [box, ...others] = db.prepare("SELECT sealed FROM main.tip LIMIT 2").pluck().all();
	return Buffer.isBuffer(box) && others.length === 0 ? openTipBox(box, macs) : undefined;
}

/**
 * Compares the rows and the log with the tip that the last transaction left, and indexes with their rows, in one state of the database.
 * @param which sums to compare: each reads every row of its kinds
 */
export function checkIntegrity(db: Database, macs: RowMacs, which: readonly RowSum[]): IntegrityReport {
	return db.transaction(() => {
		const tip = readTip(db, macs);
		if (tip === undefined) return { access: ["the tip"], content: [] };
		const { sums, unfit, misindexed, newer } = sumUp(db, macs, which, tip.rows.newest);
		const differs = differingSums(sums, tip.rows);
		const rows = (sum: RowSum) => {
			const named = (tables: Set<RowTable>, what: string) =>
				[...tables].filter((table) => ROW_KINDS[table].sum === sum).map((table) => `${what} of ${table}`);
			return [
				...(which.includes(sum) && differs[sum] ? [`the sum of ${sum} rows`] : []),
				...named(unfit, "rows"),
				...named(misindexed, "an index"),
			];
		};
		const log = isEndOfLog(db, tip) ? [] : ["the end of the audit log"];
		// Content that is newer than the tip: everything else was put back as it once was.
		const old = [...newer].map((table) => `rows of ${table} newer than the tip`);
		const numbers = hasNextNumber(db) ? [] : ["the number of the next secret"];
		const counts = which.includes("content") ? findMiscounts(db) : [];
		return { access: [...log, ...numbers, ...old, ...rows("access")], content: [...rows("content"), ...counts] };
	})();
}

/** Names the counts that are not those of the rows. */
function findMiscounts(db: Database): string[] {
	return [
		...(areLeasesCounted(db) ? [] : ["the counts of leases"]),
		...(areRealmsCounted(db) ? [] : ["the counts of realms"]),
	];
}

function isEndOfLog(db: Database, { seq, hash }: Tip): boolean {
	const newest = db.prepare("SELECT seq, hash FROM main.audit_event ORDER BY seq DESC LIMIT 1").get();
	const end = (newest as { seq: number; hash: unknown } | undefined) ?? { seq: 0, hash: GENESIS };
	return end.seq === seq && Buffer.isBuffer(end.hash) && end.hash.equals(hash);
}

/** State that a transaction may have to return to. */
interface Point {
	tip: ReturnType<Chain["tip"]>;
	rows: RowState | undefined;
}

/** Keeper of the tip in the writer's transactions. */
export interface TipKeeper {
	point(): Point;
	rewind(point: Point): void;
	/** Counts the changes of rows that grant access; undefined when they are not followed. */
	accessChanges(): number | undefined;
	/** Notices, as the first step of a transaction, that another program altered the schema. From then on no row gets a MAC. */
	begin(): void;
	/** Replaces the tip, as the last step of a transaction. */
	seal(): void;
}

/** Keeps the end of the log alone: over a database that is not believed, where only leases go on. */
export function keepLog(chain: Chain): TipKeeper {
	return {
		point: () => ({ tip: chain.tip(), rows: undefined }),
		rewind: ({ tip }) => chain.rewind(tip),
		accessChanges: () => undefined,
		begin: () => undefined,
		seal: () => undefined,
	};
}

/**
 * Keeps log and rows.
 * @param start the state of a database that was found sound
 * @param onAltered receives, once, what another program altered in the schema
 */
export function keepTip(
	db: Database,
	chain: Chain,
	macs: RowMacs,
	start: RowState = noRows(macs.active),
	onAltered: (altered: string[]) => void = () => undefined,
): TipKeeper {
	const ledger = guardWrites(db, macs, start, chain.note);
	const version = db.prepare("PRAGMA main.schema_version").pluck();
	const write = db.prepare(
		"INSERT INTO main.tip (id, sealed) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
	);
	const alterations = schemaAlterations(db);
	const blocks = blockWriter(db);
	const seal = tipSealer(macs);
	// The first transaction compares it, too: the schema may have been altered before the start.
	let known: unknown;
	let isOurs = true;
	return {
		point: () => ({ tip: chain.tip(), rows: ledger.state() }),
		rewind({ tip, rows }) {
			chain.rewind(tip);
			if (rows !== undefined) ledger.rewind(rows);
		},
		accessChanges: () => (isOurs ? ledger.accessChanges() : undefined),
		begin() {
			const found = version.get();
			if (!isOurs || found === known) return;
			known = found;
			// Another number may have the same schema: VACUUM counts, too.
			const altered = alterations();
			if (altered.length === 0) return;
			isOurs = false;
			ledger.stop();
			onAltered(altered);
		},
		seal() {
			if (!isOurs) return;
			const [end, rows] = [chain.tip(), ledger.state()];
			if (end.seq >= blocks.due) blocks.add(end.seq);
			write.run(seal({ ...end, rows }));
		},
	};
}

/** Names what does not fit in a database that another program emptied or removed. */
const EMPTIED = "all rows: the database is empty";

/**
 * Opens a database under its keys: a new one gets its first tip with its first transaction, and one that fits goes on from its own.
 * @param wasAdopted whether the server believed the directory's database before: then an empty one is not new
 * @returns what does not fit, and the keeper; where something does not fit, it keeps the log alone
 */
export function openTip(
	db: Database,
	chain: Chain,
	macs: RowMacs,
	wasAdopted: boolean,
	onAltered: (altered: string[]) => void,
): { altered: string[]; keeper: TipKeeper } {
	const unsound = (...altered: string[]) => ({ altered, keeper: keepLog(chain) });
	const sound = (start?: RowState) => ({ altered: [], keeper: keepTip(db, chain, macs, start, onAltered) });
	if (isNew(db)) return wasAdopted ? unsound(EMPTIED) : sound();
	const rows = readTip(db, macs)?.rows;
	// A tip from before tips kept the newest id: both sums show once what its age would.
	const { access, content } = checkIntegrity(db, macs, rows?.newest === undefined ? BOTH : ["access"]);
	if (access.length + content.length > 0) return unsound(...access, ...content);
	// The key that is active sealed it: both change in one transaction.
	if (rows?.active !== macs.active) return unsound("the tip");
	return sound(rows.newest === undefined ? { ...rows, ...currentRows(db, macs) } : rows);
}

/** Reads what a tip from before tips kept the newest id does not say. */
function currentRows(db: Database, macs: RowMacs): Pick<RowState, "sums" | "newest"> {
	return { sums: sumUp(db, macs, BOTH, undefined).sums, newest: newestId(db) };
}

/** Goes on from the tip of a database that was found sound. */
export function continueTip(db: Database, chain: Chain, macs: RowMacs): TipKeeper {
	return keepTip(db, chain, macs, readTip(db, macs)?.rows);
}

/** Tells whether nothing was ever stored: no row, no event, no tip. */
function isNew(db: Database): boolean {
	return db.prepare("SELECT 1 FROM main.tip").get() === undefined && db.prepare(ANYTHING).get() === undefined;
}
