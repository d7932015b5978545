import type { Database } from "better-sqlite3";
import type { RowKey, RowValue } from "../../crypto/row-macs.ts";
import { NAMED_TABLES } from "../row-names.ts";
import { type CurrentRow, createRowReplay, joinNamed, type Named, sharesOf } from "../row-replay.ts";
import { eventsUpTo, newest } from "./log-segments.ts";
import { rowText } from "./row-text.ts";

/** Compares rows with their fingerprints in the log, and events with their makers: those of one share of all names at a time. */
export function compareNames(db: Database, keys: readonly RowKey[], rows_a_pass?: number): Named {
	const shares = sharesOf(countRows(db), rows_a_pass);
	return joinNamed(
		shares.map((isMine) => {
			const replay = createRowReplay(keys, isMine);
			const { last, isRestored } = db.transaction(() => {
				for (const row of rowsOf(db)) replay.addRow(row);
				const toTell = db.prepare("SELECT 1 FROM main.meta WHERE name = 'restore_to_tell'");
				return { last: newest(db), isRestored: toTell.get() !== undefined };
			})();
			for (const event of eventsUpTo(db, last, "true", {})) replay.take(event);
			return replay.end(isRestored);
		}),
	);
}

function* rowsOf(db: Database): Generator<CurrentRow> {
	for (const table of NAMED_TABLES) {
		const rows = db.prepare(`SELECT mac, ${rowText(table)} FROM main.${table}`).raw();
		for (const [mac, text] of rows.iterate() as IterableIterator<[mac: RowValue, text: string]>)
			yield { table, mac, text };
	}
}

function countRows(db: Database): number {
	const counts = NAMED_TABLES.map((table) => `(SELECT count(*) FROM main.${table})`);
	return db
		.prepare(`SELECT ${counts.join(" + ")}`)
		.pluck()
		.get() as number;
}
