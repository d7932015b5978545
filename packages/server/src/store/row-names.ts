import type { RowValue } from "../crypto/row-macs.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "./row-kinds.ts";

/** Bytes of a MAC that an event keeps of a row: nobody without the key makes a row with the same, or learns anything of its secrets. */
const DIGEST_BYTES = 8;

/** Hexadecimal digits of the key's id before them. */
const KEY_DIGITS = 8;

/** Tables whose rows the log names. */
export const NAMED_TABLES: readonly RowTable[] = (Object.keys(ROW_KINDS) as RowTable[]).filter(
	(table) => kindOf(table).unnamed === undefined,
);

/** A row as an event names it. */
export interface NamedRow {
	name: string;
	/** Fingerprint of the row as the event left it; undefined when the event ended it. */
	fingerprint: string | undefined;
}

/** Lists the columns that name a table's rows. */
export function namingColumns(table: RowTable): readonly string[] {
	const { key, named_by = key } = kindOf(table);
	return named_by;
}

/** Names a row by the values of its naming columns. No two rows have the same name, and no name has a space or an equals sign. */
export function nameOf(table: RowTable, values: readonly RowValue[]): string {
	const parts = values.map((value) =>
		Buffer.isBuffer(value) ? value.toString("hex") : encodeURIComponent(String(value)),
	);
	return [table, ...parts].join("/");
}

/** Makes the function that names a table's rows by the columns that their MAC covers. */
export function naming(table: RowTable): (covered: readonly RowValue[]) => string {
	const columns = coveredColumns(table);
	const places = namingColumns(table).map((column) => columns.indexOf(column));
	return (covered) =>
		nameOf(
			table,
			places.map((place) => covered[place] ?? null),
		);
}

/** Returns the part of a MAC that an event keeps. */
export function fingerprintOf(mac: Buffer): string {
	return `${mac.toString("hex", 0, KEY_DIGITS / 2)}${mac.toString("hex", mac.length - DIGEST_BYTES)}`;
}

/** Tells whether a fingerprint may be by this key, which is named in hexadecimal. */
export function isFingerprintBy(fingerprint: string, key: string): boolean {
	return key.startsWith(fingerprint.slice(0, KEY_DIGITS));
}

/** Writes a named row for an event. */
export function writeNamed({ name, fingerprint }: NamedRow): string {
	return fingerprint === undefined ? name : `${name}=${fingerprint}`;
}

/** Reads the rows that an event names. */
export function readNamed(text: string): NamedRow[] {
	return text.split(" ").map((part) => {
		const [name = "", fingerprint] = part.split("=");
		return { name, fingerprint };
	});
}

function kindOf(table: RowTable): RowKind {
	return ROW_KINDS[table];
}
