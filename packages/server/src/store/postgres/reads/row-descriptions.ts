import type { Difference, StrangeEvent, When } from "../../../audit/comparison.ts";
import { makerName, type Strange } from "../../../audit/event-makers.ts";
import type { StoredEvent } from "../../../audit/model.ts";
import type { Misnamed } from "../../../audit/named-rows.ts";
import type { RowValue } from "../../../crypto/row-macs.ts";
import {
	byTable,
	describeRow,
	MAX_SEARCHED,
	nameSource,
	type ShownRow,
	shownOf,
	shownRow,
	strangeEvent,
} from "../../row-descriptions.ts";
import { nameOf, namingColumns } from "../../row-names.ts";
import type { Sql } from "../connection.ts";
import { everyRow } from "../cursor.ts";
import { COLUMNS } from "./log-segments.ts";

/** Describes rows that are not as the log names them: current ones by their columns, others by the event that named them. */
export async function describeEach(sql: Sql, misnamed: readonly Misnamed[]): Promise<Difference[]> {
	const shown = await currentRows(sql, misnamed);
	const described: Difference[] = [];
	for (const row of misnamed) {
		const current = shown.get(row.name);
		const by = current === undefined && row.by !== undefined ? await eventOf(sql, row.by.seq) : undefined;
		described.push(describeRow(row, current, by));
	}
	return described;
}

async function eventOf(sql: Sql, seq: number): Promise<StoredEvent | undefined> {
	return (await sql.rows<StoredEvent>(`SELECT ${COLUMNS} FROM audit_event WHERE seq = $1`, [seq]))[0];
}

type Found = Record<string, RowValue> & { shown_id: RowValue; shown_name: RowValue };

/** Finds the shown ids and names of the current ones among those rows, by their names in the log. */
async function currentRows(sql: Sql, misnamed: readonly Misnamed[]): Promise<Map<string, ShownRow>> {
	const shown = new Map<string, ShownRow>();
	for (const [table, names] of byTable(misnamed)) {
		const { id, name: shownName } = shownOf(table);
		const naming = namingColumns(table);
		const query = `SELECT ${naming.join(", ")}, ${id} AS shown_id, ${shownName} AS shown_name FROM ${table}`;
		for await (const row of everyRow<Found>(sql, `shown_${table}`, query)) {
			const values = naming.map((column) => row[column] ?? null);
			const name = nameOf(table, values);
			if (names.has(name)) shown.set(name, shownRow(row.shown_id, row.shown_name));
		}
	}
	return shown;
}

/** Finds the name that people know of a current row. */
export async function nameOfDifference(sql: Sql, difference: Difference): Promise<string | undefined> {
	const source = nameSource(difference);
	if (source === undefined) return undefined;
	const { table, id, name } = source;
	const [found] = await sql.rows<{ name: string | null }>(`SELECT ${name} AS name FROM ${table} WHERE ${id} = $1`, [
		difference.id,
	]);
	return found?.name || undefined;
}

const END = `SELECT seq, timestamp FROM audit_event WHERE seq < $1 AND (strpos(data, $2::text || ' ') > 0 OR strpos(data, $2::text || '"') > 0
	OR (type = 'user.disabled' AND strpos(data, $3) > 0)) ORDER BY seq DESC LIMIT 1`;
const MADE = "SELECT 1 FROM audit_event WHERE seq < $1 AND strpos(data, $2::text || '=') > 0 LIMIT 1";

/** Describes events by the one that had ended their makers before them. */
export async function describeStrange(sql: Sql, strange: readonly Strange[]): Promise<StrangeEvent[]> {
	const described: StrangeEvent[] = [];
	for (const event of strange) {
		const isSearched = described.length < MAX_SEARCHED;
		const name = makerName(event);
		const [by] = isSearched ? await sql.rows<When>(END, [event.seq, name, event.id]) : [];
		const wasMade = isSearched && by === undefined && (await sql.rows(MADE, [event.seq, name])).length > 0;
		described.push(strangeEvent(event, by, wasMade));
	}
	return described;
}
