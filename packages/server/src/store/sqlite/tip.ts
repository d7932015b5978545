import type { Database } from "better-sqlite3";
import { GENESIS } from "../../audit/chain.ts";
import type { Misfits } from "../../backups/model.ts";
import type { RowMacs } from "../../crypto/row-macs.ts";
import { ROW_KINDS, type RowSum } from "../row-kinds.ts";
import { guardWrites, type RowLedger, type RowSums, sumUp } from "./row-guard.ts";
import { schemaAlterations } from "./schema-alterations.ts";
import type { Chain } from "./writes/audit.ts";

/** End of the log and sums of all rows, as one transaction left them. */
interface Tip {
	seq: number;
	hash: Buffer;
	sums: RowSums;
}

const NO_SUMS: RowSums = { access: 0n, content: 0n };

function readTip(db: Database, macs: RowMacs): Tip | undefined {
	const box = db.prepare("SELECT sealed FROM main.tip").pluck().get() as Buffer | undefined;
	const text = box && macs.open(box);
	if (text === undefined) return undefined;
	const { seq, hash, access, content } = JSON.parse(text) as Record<keyof RowSums | "hash", string> & Pick<Tip, "seq">;
	return {
		seq,
		hash: Buffer.from(hash, "hex"),
		sums: { access: BigInt(`0x${access}`), content: BigInt(`0x${content}`) },
	};
}

function textOf({ seq, hash, sums }: Tip): string {
	const [access, content] = [sums.access.toString(16), sums.content.toString(16)];
	return JSON.stringify({ seq, hash: hash.toString("hex"), access, content });
}

/**
 * Compares the rows and the log with the tip that the last transaction left, in one state of the database.
 * @param which sums to compare: each reads every row of its kinds
 */
export function findMisfits(db: Database, macs: RowMacs, which: readonly RowSum[]): Misfits {
	return db.transaction(() => {
		const tip = readTip(db, macs);
		if (tip === undefined) return { access: ["the tip"], content: [] };
		const { sums, unfit } = sumUp(db, macs, which);
		const rows = (sum: RowSum) => [
			...(which.includes(sum) && sums[sum] !== tip.sums[sum] ? [`the sum of ${sum} rows`] : []),
			...[...unfit].filter((table) => ROW_KINDS[table].sum === sum).map((table) => `rows of ${table}`),
		];
		const log = isEndOfLog(db, tip) ? [] : ["the end of the audit log"];
		return { access: [...log, ...rows("access")], content: rows("content") };
	})();
}

function isEndOfLog(db: Database, { seq, hash }: Tip): boolean {
	const newest = db.prepare("SELECT seq, hash FROM main.audit_event ORDER BY seq DESC LIMIT 1").get();
	const end = (newest as { seq: number; hash: Buffer } | undefined) ?? { seq: 0, hash: GENESIS };
	return end.seq === seq && end.hash.equals(hash);
}

/** State that a transaction may have to return to. */
interface Point {
	tip: ReturnType<Chain["tip"]>;
	sums: RowSums | undefined;
}

/** Keeper of the tip in the writer's transactions. */
export interface TipKeeper {
	point(): Point;
	rewind(point: Point): void;
	/** Notices, as the first step of a transaction, that another program altered the schema. From then on no row gets a MAC. */
	begin(): void;
	/** Replaces the tip, as the last step of a transaction. */
	seal(): void;
}

/** Keeps the end of the log alone: over a database that is not believed, where only leases go on. */
export function keepLog(chain: Chain): TipKeeper {
	return {
		point: () => ({ tip: chain.tip(), sums: undefined }),
		rewind: ({ tip }) => chain.rewind(tip),
		begin: () => undefined,
		seal: () => undefined,
	};
}

/**
 * Keeps log and rows.
 * @param start the sums of a database that was found sound
 * @param onAltered receives, once, what another program altered in the schema
 */
export function keepTip(
	db: Database,
	chain: Chain,
	macs: RowMacs,
	start: RowSums = NO_SUMS,
	onAltered: (altered: string[]) => void = () => undefined,
): TipKeeper {
	const ledger: RowLedger = guardWrites(db, macs, start);
	const version = db.prepare("PRAGMA main.schema_version").pluck();
	const write = db.prepare(
		"INSERT INTO main.tip (id, sealed) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
	);
	const alterations = schemaAlterations(db);
	let known = version.get();
	let isOurs = true;
	return {
		point: () => ({ tip: chain.tip(), sums: ledger.sums() }),
		rewind({ tip, sums }) {
			chain.rewind(tip);
			if (sums !== undefined) ledger.rewind(sums);
		},
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
			if (isOurs) write.run(macs.seal(textOf({ ...chain.tip(), sums: ledger.sums() })));
		},
	};
}

/**
 * Opens a database under its keys: a new one gets its first tip with its first transaction, and one that fits goes on from its own.
 * @returns the keeper, and what does not fit; then the keeper keeps the log alone
 */
export function openTip(
	db: Database,
	chain: Chain,
	macs: RowMacs,
	onAltered: (altered: string[]) => void,
): { keeper: TipKeeper; altered: string[] } {
	if (isNew(db)) return { keeper: keepTip(db, chain, macs, NO_SUMS, onAltered), altered: [] };
	const { access } = findMisfits(db, macs, ["access"]);
	if (access.length > 0) return { keeper: keepLog(chain), altered: access };
	return { keeper: continueTip(db, chain, macs, onAltered), altered: [] };
}

/** Goes on from the tip of a database that was found sound. */
export function continueTip(
	db: Database,
	chain: Chain,
	macs: RowMacs,
	onAltered?: (altered: string[]) => void,
): TipKeeper {
	return keepTip(db, chain, macs, readTip(db, macs)?.sums, onAltered);
}

/** Tells whether nothing was ever stored: no key, no event, no tip. */
function isNew(db: Database): boolean {
	const any =
		"SELECT 1 FROM main.keyring UNION ALL SELECT 1 FROM main.audit_event UNION ALL SELECT 1 FROM main.tip LIMIT 1";
	return db.prepare(any).get() === undefined;
}
