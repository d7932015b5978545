import type { Database } from "better-sqlite3";
import type { SealedKind, SealedPage, SealedRows } from "../../backups/model.ts";
import { createStatements } from "./statements.ts";

/** Rows, and bytes of their boxes, in one page. */
const PAGE_ROWS = 500;
const PAGE_BYTES = 1024 * 1024;

/** Rows of each kind with their boxes, in the order of `at`, which every row has. */
const ROWS: Readonly<Record<SealedKind, string>> = {
	values:
		"SELECT v.rowid AS at, v.*, s.realm_id, s.environment, s.key, coalesce(r.slug, s.realm_id) AS realm FROM secret_version AS v " +
		"JOIN secret AS s ON s.id = v.secret_id LEFT JOIN realm AS r ON r.id = s.realm_id WHERE v.rowid > ? ORDER BY v.rowid",
	deleted_values:
		"SELECT v.rowid AS at, v.*, s.realm_id, s.environment, s.key, coalesce(r.slug, s.realm_id) AS realm FROM deleted_version AS v " +
		"JOIN deleted_secret AS s ON s.id = v.deletion_id LEFT JOIN realm AS r ON r.id = s.realm_id WHERE v.rowid > ? ORDER BY v.rowid",
	configs:
		"SELECT c.rowid AS at, c.*, coalesce(r.slug, c.realm_id) AS realm FROM engine_config AS c LEFT JOIN realm AS r ON r.id = c.realm_id " +
		"WHERE c.rowid > ? ORDER BY c.rowid",
	payloads: "SELECT rowid AS at, id, engine, payload FROM lease WHERE rowid > ? AND payload IS NOT NULL ORDER BY rowid",
	factors: "SELECT rowid AS at, * FROM factor WHERE rowid > ? ORDER BY rowid",
	// These are few, and have no number: they are one page.
	providers: "SELECT 1 AS at, * FROM sso_provider WHERE 1 > ? ORDER BY name",
	keys: "SELECT 1 AS at, * FROM keyring WHERE 1 > ? ORDER BY id",
};

const BOXES = ["value", "sealed", "payload", "wrapped"];
const ONE_PAGE: readonly SealedKind[] = ["providers", "keys"];

/** Question for sealed rows, some at a time. Altered ones are among them: all are to be opened. */
export function sealedRows(db: Database) {
	const prepare = createStatements(db);
	return <Kind extends SealedKind>(kind: Kind, after: number): SealedPage<Kind> => {
		const rows: Record<string, unknown>[] = [];
		let bytes = 0;
		for (const row of prepare(ROWS[kind]).iterate(after) as IterableIterator<Record<string, unknown>>) {
			rows.push(row);
			for (const box of BOXES) bytes += Buffer.isBuffer(row[box]) ? row[box].length : 0;
			if (!ONE_PAGE.includes(kind) && (rows.length === PAGE_ROWS || bytes >= PAGE_BYTES)) break;
		}
		return { rows: rows as unknown as SealedRows[Kind][], last: Number(rows.at(-1)?.at ?? after) };
	};
}
