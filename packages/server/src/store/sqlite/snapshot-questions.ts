import type { Database } from "better-sqlite3";
import { GENESIS } from "../../audit/chain.ts";
import type { IntegrityReport, Samples, SnapshotFacts } from "../../backups/model.ts";
import type { KeyRow } from "../../crypto/keyring-model.ts";
import { createRowMacs, type RowKey } from "../../crypto/row-macs.ts";
import { system } from "../../system.ts";
import { columnsOf } from "../row-kinds.ts";
import { adoptionPreview } from "./adoption-preview.ts";
import { areBlocksSound } from "./audit-block-check.ts";
import { schemaOf } from "./migrate.ts";
import { compareRows } from "./row-comparison.ts";
import { schemaAlterations } from "./schema-alterations.ts";
import { sealedRows } from "./sealed-rows.ts";
import { createStatements } from "./statements.ts";
import { checkIntegrity } from "./tip.ts";

/** Maximum number of problems listed of one kind. */
const MAX_PROBLEMS = 10;

/**
 * Questions about a whole database file, to copy or to judge it. They run in a thread of their own. Statements are prepared late,
 * because the file may have an older schema or be no sound database.
 */
export function snapshotQuestions(db: Database) {
	const prepare = createStatements(db);
	const meta = (name: string) =>
		prepare("SELECT value FROM meta WHERE name = ?").pluck().get(name) as string | undefined;
	return {
		copyTo(file: string): void {
			// It reads one snapshot, and no writer has to wait. The connection itself stays read-only.
			db.pragma("query_only = OFF");
			db.prepare("VACUUM INTO ?").run(file);
		},
		facts(): SnapshotFacts {
			const newest = prepare("SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1").get() as
				| { seq: number; hash: Buffer }
				| undefined;
			const { applied, schema, problem } = schemaOf(db);
			return {
				schema,
				schema_problem: problem === "" ? alteredBy(db, applied) : problem,
				fingerprint: meta("master_key_fingerprint"),
				events: newest?.seq ?? 0,
				last_hash: newest?.hash ?? GENESIS,
				restore_epoch: Number(meta("restore_epoch") ?? 0),
			};
		},
		checkQuickly: (): string[] =>
			(db.pragma(`quick_check(${MAX_PROBLEMS})`) as { quick_check: string }[])
				.map((row) => row.quick_check)
				.filter((text) => text !== "ok"),
		inspect(): string[] {
			const pages = db.pragma(`integrity_check(${MAX_PROBLEMS})`) as { integrity_check: string }[];
			const references = db.pragma("foreign_key_check") as { table: string }[];
			return [
				...pages.map((row) => row.integrity_check).filter((text) => text !== "ok"),
				...(areBlocksSound(db) ? [] : ["the index of the audit log does not have its events"]),
				...references.slice(0, MAX_PROBLEMS).map(({ table }) => `a row of ${table} refers to nothing`),
			];
		},
		adoptionPreview: () => adoptionPreview(db),
		compare: (keys: RowKey[]) => compareRows(db, keys),
		checkIntegrity: (keys: RowKey[]): IntegrityReport =>
			checkIntegrity(db, createRowMacs(keys, system.randomBytes), ["access", "content"]),
		keys: (): KeyRow[] => prepare(`SELECT ${columnsOf("keyring").join(", ")} FROM keyring`).all() as KeyRow[],
		samples: (): Samples => samplesOf(db),
		sealed: sealedRows(db),
	};
}

/** Names the alterations of a schema; empty when there are none. */
function alteredBy(db: Database, applied: number): string {
	const altered = schemaAlterations(db, applied)();
	return altered.length === 0 ? "" : `its schema was altered by another program: ${altered.join(", ")}`;
}

const ONE_SECRET_A_REALM = `
SELECT v.*, s.realm_id, s.environment, s.key FROM realm r
  JOIN secret_version v ON v.rowid = (
    SELECT w.rowid FROM secret q JOIN secret_version w ON w.secret_id = q.id WHERE q.realm_id = r.id LIMIT 1)
  JOIN secret s ON s.id = v.secret_id`;

/** Looks among the newest leases: few have a payload. */
const ONE_PAYLOAD =
	"SELECT * FROM (SELECT id, payload FROM lease ORDER BY id DESC LIMIT 10000) WHERE payload IS NOT NULL LIMIT 1";

function samplesOf(db: Database): Samples {
	const known = new Set(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all());
	const rows = <Row>(table: string, text: string) => (known.has(table) ? (db.prepare(text).all() as Row[]) : []);
	return {
		secrets: rows<Samples["secrets"][number]>("secret", ONE_SECRET_A_REALM).map((row) => ({
			...row,
			pre_encrypted: Boolean(row.pre_encrypted),
		})),
		engine_configs: rows("engine_config", "SELECT * FROM engine_config"),
		lease_payloads: rows("lease", ONE_PAYLOAD),
		sso_providers: rows("sso_provider", "SELECT * FROM sso_provider"),
	};
}
