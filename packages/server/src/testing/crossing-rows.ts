import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { keySetOf } from "../audit/key-parts.ts";
import { createRowMacs } from "../crypto/row-macs.ts";
import { columnsOf, ROW_KINDS, type RowTable } from "../store/row-kinds.ts";
import { countLeases } from "../store/sqlite/lease-counts.ts";
import { migrate } from "../store/sqlite/migrate.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { countRealms } from "../store/sqlite/realm-counts.ts";
import { keepTip, openChain } from "../store/sqlite/tip.ts";
import { system } from "../system.ts";
import { transact } from "./guarded-rows.ts";
import { anEvent, newId } from "./rows.ts";
import { ROW_KEY } from "./store.ts";

type Database = ReturnType<typeof openWriter>;

/** Texts and bytes that a copy in other words would change: quotes, escapes, braces, spaces, NULL as a word, and what UTF-8 and Unicode have. */
const ODD = `"quoted" \\back\\ {a,b} 'one' NULL é e\u0301 ﬁ 🔑 \u{10ffff}\ufeff \t\n\r ${"long ".repeat(300)}`;
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, at) => at));

/** Values that a table's conditions ask for, by `table.column` or by column. */
const GIVEN: Readonly<Record<string, readonly [unknown, unknown]>> = {
	environment: ["dev", "prod"],
	role: ["viewer", "admin"],
	type: ["oidc", "oidc"],
	"factor.type": ["totp", "passkey"],
	"engine_config.state": ["active", "retired"],
	"keyring.state": ["active", "retired"],
	"lease.state": ["active", "revoked"],
	"lease.due_at": [2 ** 45, null],
	"lease.closed_at": [null, "2030-01-02T00:00:00.000Z"],
	"keyring.purpose": ["record", "rows"],
	"realm.deleted_at": [null, "2030-01-02T00:00:00.000Z"],
	"account.password": [ODD, null],
	"account_limit.realm_bytes": [2 ** 50, null],
	"secret.id": [1, 7],
	"secret_version.secret_id": [1, 7],
	"recovery_codes.digests": [Buffer.alloc(64, 1), Buffer.alloc(0)],
};

/**
 * Fills an empty file with a database of SQLite: two rows of every table whose rows have MACs, awkward values among them, a log with sets of keys and a
 * checkpoint, and the tip after all of that.
 */
export function fillSqlite(file: string): void {
	writeFileSync(file, "", { mode: 0o600 });
	const db = openWriter(file);
	migrate(db, "2030-01-01T00:00:00.000Z");
	db.pragma("foreign_keys = OFF");
	const chain = openChain(db);
	const keeper = keepTip(db, chain, createRowMacs([ROW_KEY], system.randomBytes));
	transact(db, keeper, () => {
		for (const table of Object.keys(ROW_KINDS) as RowTable[]) for (const number of [1, 2]) addRow(db, table, number);
		countRealms(db);
		countLeases(db);
		chain.append(anEvent({ data: { key: "with U+0000: \0", environment: "dev", odd: ODD } }));
		chain.append(anEvent({ actor: ODD, realm_id: "a", realm: ODD, data: { key_set: SET.hash, token_id: newId() } }));
		addLog(db);
	});
	// Versions whose secret is gone: no later secret gets its number.
	db.exec("UPDATE sqlite_sequence SET seq = 1000 WHERE name = 'secret'");
	if ((db.pragma("foreign_key_check") as unknown[]).length > 0) throw new Error("a row refers to nothing");
	db.pragma("wal_checkpoint(TRUNCATE)");
	db.close();
}

function addRow(db: Database, table: RowTable, number: number): void {
	const columns = columnsOf(table);
	const targets = db.pragma(`foreign_key_list(${table})`) as { from: string; table: RowTable; to: string }[];
	const values = columns.map((column) => {
		const target = targets.find(({ from }) => from === column);
		return target === undefined ? sample(db, table, column, number) : sample(db, target.table, target.to, number);
	});
	const places = columns.map(() => "?").join(", ");
	db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`).run(values);
}

function sample(db: Database, table: string, column: string, number: number): unknown {
	const given = GIVEN[`${table}.${column}`] ?? GIVEN[column];
	if (given !== undefined) return given[number - 1];
	const found = db.prepare("SELECT type, pk FROM pragma_table_info(?) WHERE name = ?").get(table, column);
	const { type, pk } = found as { type: string; pk: number };
	if (type === "INTEGER") return number - 1;
	const short = column === "id" ? 8 : 32;
	if (type === "BLOB") return pk > 0 || column !== "value" ? Buffer.alloc(short, number) : BYTES;
	return pk > 0 || number === 1 ? `${column} ${number}` : `${column} ${number} ${ODD}`;
}

const SET = keySetOf(["A", "B"]);

/** Adds what the log refers to. */
function addLog(db: Database): void {
	const add = (table: string, ...values: unknown[]) =>
		db.prepare(`INSERT INTO ${table} VALUES (${values.map(() => "?").join(", ")})`).run(values);
	add("audit_key", 3, "A");
	add("audit_key", 9, "B");
	for (const { hash: part } of SET.parts) add("audit_key_part", 4, part);
	for (const key of [3, 9]) add("audit_key_in_part", 4, key);
	add("audit_key_set", 5, SET.hash, "a");
	add("audit_part_in_set", 5, 4);
	db.prepare("INSERT INTO audit_checkpoint SELECT seq, timestamp, hash, ?, ? FROM audit_event WHERE seq = 1").run(
		Buffer.alloc(8, 2),
		BYTES,
	);
}

/** Describes rows of a table, in any order: their number, and a hash of every value. */
export function digestOf(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
	const texts = rows.map((row) => JSON.stringify(columns.map((column) => plain(row[column]))));
	return `${rows.length} rows, ${hash("sha256", texts.toSorted().join("\n"))}`;
}

const plain = (value: unknown) =>
	Buffer.isBuffer(value) ? [value.toString("hex")] : typeof value === "boolean" ? Number(value) : value;
