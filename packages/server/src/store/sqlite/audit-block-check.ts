import type { Database } from "better-sqlite3";
import { BLOCK, blockMaker, segmentMaker, segmentOf } from "./audit-blocks.ts";

/** A block as another program may have left it. */
interface Stored {
	block: number;
	earliest: string;
	latest: string;
	keys: Buffer;
}

/** Tells whether the stored blocks, and segments, are those of the events. A database from before blocks has none. */
export function areBlocksSound(db: Database): boolean {
	if (db.prepare("SELECT 1 FROM main.sqlite_schema WHERE name = 'audit_posting'").get() === undefined) return true;
	const make = blockMaker(db);
	const divide = segmentMaker(db);
	const posting = db.prepare("SELECT offsets FROM main.audit_posting WHERE term = ? AND block = ?").pluck();
	const areThere = (block: number, offsets: Map<string, Buffer>) =>
		Array.from(offsets).every(([term, own]) => (posting.get(term, block) as Buffer | undefined)?.equals(own));
	let before = { block: -1, latest: "" };
	let postings = 0;
	for (const stored of db
		.prepare("SELECT block, earliest, latest, keys FROM main.audit_block ORDER BY block")
		.iterate()) {
		const { block, ...known } = stored as Stored;
		const { earliest, latest, offsets, keys } = make(block, before.latest);
		if (known.earliest !== earliest || known.latest !== latest || !known.keys.equals(keys)) return false;
		const segment = segmentOf(before.block);
		const parts = segmentOf(block) > segment ? divide(segment) : new Map<string, Buffer>();
		if (!areThere(block, offsets) || !areThere(segment, parts)) return false;
		postings += offsets.size + parts.size;
		before = { block, latest };
	}
	return areAllThere(db) && db.prepare("SELECT count(*) FROM main.audit_posting").pluck().get() === postings;
}

/** Tells whether each event up to the newest block is in a block, and each block has events. */
function areAllThere(db: Database): boolean {
	const missing = `SELECT 1 FROM (SELECT DISTINCT seq / ${BLOCK} AS block FROM main.audit_event WHERE seq >= 0) AS own
		WHERE own.block < (SELECT max(block) FROM main.audit_block) AND own.block NOT IN (SELECT block FROM main.audit_block) LIMIT 1`;
	return db.prepare(missing).get() === undefined;
}
