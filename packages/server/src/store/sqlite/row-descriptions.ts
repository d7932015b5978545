import type { Database } from "better-sqlite3";
import type { Difference, StrangeEvent, When } from "../../audit/comparison.ts";
import { makerName, type Strange } from "../../audit/event-makers.ts";
import type { StoredEvent } from "../../audit/model.ts";
import type { Misnamed } from "../../audit/named-rows.ts";
import type { RowValue } from "../../crypto/row-macs.ts";
import {
	byTable,
	describeRow,
	MAX_SEARCHED,
	nameSource,
	type ShownRow,
	shownOf,
	shownRow,
	strangeEvent,
} from "../row-descriptions.ts";
import { nameOf, namingColumns } from "../row-names.ts";

/** Describes rows that are not as the log names them: current ones by their columns, others by the event that named them. */
export function describeMisnamed(db: Database, misnamed: readonly Misnamed[]): Difference[] {
	const shown = currentRows(db, misnamed);
	const event = db.prepare("SELECT * FROM main.audit_event WHERE seq = ?");
	return misnamed.map((row) => {
		const current = shown.get(row.name);
		const by = current === undefined ? event.get(row.by?.seq) : undefined;
		return describeRow(row, current, by as StoredEvent | undefined);
	});
}

/** Finds the shown ids and names of the current ones among those rows, by their names in the log. */
function currentRows(db: Database, misnamed: readonly Misnamed[]): Map<string, ShownRow> {
	const shown = new Map<string, ShownRow>();
	for (const [table, names] of byTable(misnamed)) {
		const { id: idOf, name: shownName } = shownOf(table);
		const all = db.prepare(`SELECT ${idOf}, ${shownName}, ${namingColumns(table).join(", ")} FROM main.${table}`).raw();
		for (const [id, text, ...values] of all.iterate() as IterableIterator<RowValue[]>) {
			const name = nameOf(table, values);
			if (names.has(name)) shown.set(name, shownRow(id, text));
		}
	}
	return shown;
}

/** Finds the name that people know of a current row. */
export function nameOfDifference(db: Database, difference: Difference): string | undefined {
	const source = nameSource(difference);
	if (source === undefined) return undefined;
	const { table, id, name } = source;
	const found = db.prepare(`SELECT ${name} FROM main.${table} WHERE ${id} = ?`).pluck().get(difference.id);
	return typeof found === "string" && found !== "" ? found : undefined;
}

/** Describes events by the one that had ended their makers before them. */
export function describeStrange(db: Database, strange: readonly Strange[]): StrangeEvent[] {
	const end = db.prepare(
		"SELECT seq, timestamp FROM main.audit_event WHERE seq < @seq AND (instr(data, @name || ' ') OR instr(data, @name || '\"') " +
			"OR (type = 'user.disabled' AND instr(data, @id))) ORDER BY seq DESC LIMIT 1",
	);
	const made = db.prepare("SELECT 1 FROM main.audit_event WHERE seq < @seq AND instr(data, @name || '=') LIMIT 1");
	return strange.map((event, index) => {
		if (index >= MAX_SEARCHED) return strangeEvent(event, undefined, false);
		const asked = { seq: event.seq, name: makerName(event), id: event.id };
		const by = end.get(asked) as When | undefined;
		return strangeEvent(event, by, by === undefined && made.get(asked) !== undefined);
	});
}
