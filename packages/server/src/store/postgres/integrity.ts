import { type ChainEnd, GENESIS } from "../../audit/chain.ts";
import type { IntegrityReport } from "../../backups/model.ts";
import type { RowMacs } from "../../crypto/row-macs.ts";
import { VERSION_BYTES } from "../../secrets/model.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowSum, type RowTable } from "../row-kinds.ts";
import { addTerm, differingSums, type KeySums, openTipBox } from "../row-ledger.ts";
import { ANYTHING } from "../shared-sql.ts";
import type { Sql } from "./connection.ts";
import { everyRow } from "./cursor.ts";
import { textOf } from "./rows.ts";

const TABLES = Object.keys(ROW_KINDS) as RowTable[];

/** Tells whether nothing was ever stored: no row, no event, no tip. */
export async function isNew(sql: Sql): Promise<boolean> {
	return (await sql.rows("SELECT 1 FROM tip LIMIT 1")).length === 0 && (await sql.rows(ANYTHING)).length === 0;
}

/**
 * Compares the rows and the log with the tip that the last change left, in the state that the transaction reads.
 * @param which sums to compare: each reads every row of its kinds
 */
export async function checkIntegrity(sql: Sql, macs: RowMacs, which: readonly RowSum[]): Promise<IntegrityReport> {
	const [newest] = await sql.rows<{ sealed: Buffer }>("SELECT sealed FROM tip ORDER BY id DESC LIMIT 1");
	const tip = newest && openTipBox(newest.sealed, macs);
	if (tip === undefined) return { access: ["the tip"], content: [] };
	const { sums, unfit } = await sumUp(sql, macs, which);
	const differs = differingSums(sums, tip.rows);
	const found = (sum: RowSum) => [
		...(which.includes(sum) && differs[sum] ? [`the sum of ${sum} rows`] : []),
		...[...unfit].filter((table) => ROW_KINDS[table].sum === sum).map((table) => `rows of ${table}`),
	];
	const [end = { seq: 0, hash: GENESIS }] = await sql.rows<ChainEnd>(
		"SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1",
	);
	const log = end.seq === tip.seq && end.hash.equals(tip.hash) ? [] : ["the end of the audit log"];
	const newer = await newerTables(sql, macs, tip.rows.newest);
	const old = newer.map((table) => `rows of ${table} newer than the tip`);
	const counts = which.includes("content") && !(await areRealmsCounted(sql)) ? ["the counts of realms"] : [];
	return { access: [...log, ...old, ...found("access")], content: [...found("content"), ...counts] };
}

const HELD = `SELECT realm_id, sum(bytes) AS bytes FROM (
	SELECT realm_id, length(value) + ${VERSION_BYTES} AS bytes FROM secret_version JOIN secret ON secret.id = secret_id
	UNION ALL SELECT realm_id, length(value) + ${VERSION_BYTES} FROM deleted_version JOIN deleted_secret ON deleted_secret.id = deletion_id
) AS version GROUP BY realm_id`;

/** Counts again what all realms hold. */
export async function countRealms(sql: Sql): Promise<void> {
	await sql.run(`UPDATE realm SET bytes = coalesce((SELECT bytes FROM (${HELD}) AS held WHERE realm_id = realm.id), 0),
		keys = (SELECT count(*) FROM secret WHERE realm_id = realm.id)`);
}

const MISCOUNTED = `SELECT 1 FROM realm LEFT JOIN (${HELD}) AS held ON held.realm_id = realm.id
	LEFT JOIN (SELECT realm_id, count(*) AS keys FROM secret GROUP BY realm_id) AS named ON named.realm_id = realm.id
	WHERE deleted_at IS NULL AND (realm.bytes <> coalesce(held.bytes, 0) OR realm.keys <> coalesce(named.keys, 0)) LIMIT 1`;

/** Tells whether each live realm holds as many bytes and keys as its row says. It reads every version, without the values. */
async function areRealmsCounted(sql: Sql): Promise<boolean> {
	return (await sql.rows(MISCOUNTED)).length === 0;
}

/** Finds the tables with a row that fits its MAC and is newer than the tip: everything else was put back as it once was. */
async function newerTables(sql: Sql, macs: RowMacs, newest = ""): Promise<RowTable[]> {
	const newer: RowTable[] = [];
	for (const table of TABLES) {
		const { dated }: RowKind = ROW_KINDS[table];
		if (dated === undefined) continue;
		const query = `SELECT ${coveredColumns(table).join(", ")}, mac FROM ${table} WHERE ${dated} > $1`;
		const rows = await sql.rows<Record<string, unknown>>(query, [newest]);
		if (rows.some(({ mac, ...row }) => macs.signed(mac, textOf(table, row)) !== undefined)) newer.push(table);
	}
	return newer;
}

/** Sums up the rows, each under the key that made its MAC; names the tables with rows whose MAC is wrong. */
async function sumUp(
	sql: Sql,
	macs: RowMacs,
	which: readonly RowSum[],
): Promise<{ sums: KeySums; unfit: Set<RowTable> }> {
	let sums: KeySums = new Map();
	const unfit = new Set<RowTable>();
	for (const table of TABLES.filter((one) => which.includes(ROW_KINDS[one].sum))) {
		const query = `SELECT ${coveredColumns(table).join(", ")}, mac FROM ${table}`;
		for await (const { mac, ...row } of everyRow<Record<string, unknown>>(sql, `every_${table}`, query)) {
			const found = macs.signed(mac, textOf(table, row));
			if (found === undefined) unfit.add(table);
			else sums = addTerm(sums, found.key, ROW_KINDS[table].sum, found.term);
		}
	}
	return { sums, unfit };
}
