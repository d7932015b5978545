import type { Comparison, Difference } from "../../../audit/comparison.ts";
import type { GrantingRows } from "../../../audit/granting-rows.ts";
import { GRANTING_TYPES } from "../../../audit/granting-types.ts";
import { LoggedMachines, MACHINE_TYPES, type MachineRows } from "../../../audit/machine-rights.ts";
import { LoggedRights } from "../../../audit/rights.ts";
import type { RowKey, RowValue } from "../../../crypto/row-macs.ts";
import { joinDifferences } from "../../row-descriptions.ts";
import { coveredColumns, type RowTable } from "../../row-kinds.ts";
import { NAMED_TABLES } from "../../row-names.ts";
import { createRowReplay, joinNamed, type Named, type RowReplay, sharesOf } from "../../row-replay.ts";
import type { Sql } from "../connection.ts";
import { everyRow } from "../cursor.ts";
import { textOf } from "../rows.ts";
import { everyEvent } from "./log-segments.ts";
import { describeEach, describeStrange, nameOfDifference } from "./row-descriptions.ts";

/**
 * Compares what the rows grant with what the log granted, in the state that the transaction reads: first what the events say in words, then each row with
 * the fingerprint that the last event kept of it; and each event with the account, token and session that made it.
 */
export async function compareRows(sql: Sql, keys: readonly RowKey[]): Promise<Comparison> {
	const said = await differencesOfRights(sql);
	const { misnamed, strange, from } = await compareNames(sql, keys);
	const { differences, nameless } = joinDifferences(said, await describeEach(sql, misnamed));
	for (const difference of nameless) difference.name = await nameOfDifference(sql, difference);
	return { differences, strange: await describeStrange(sql, strange), named_from: from };
}

async function differencesOfRights(sql: Sql): Promise<Difference[]> {
	const [rows, ofMachines] = [await grantingRows(sql), await machineRows(sql)];
	const [logged, machines] = [new LoggedRights(rows), new LoggedMachines(ofMachines)];
	const types = [...GRANTING_TYPES, ...MACHINE_TYPES];
	for await (const event of everyEvent(sql, "type = ANY($2::text[])", [types])) {
		logged.take(event);
		machines.take(event);
	}
	return [...logged.differences(rows), ...machines.differences(ofMachines)];
}

/** Reads the rows that grant something. */
async function grantingRows(sql: Sql): Promise<GrantingRows> {
	const all = <Row>(columns: string, from: string) => sql.rows<Row>(`SELECT ${columns} FROM ${from}`);
	return {
		accounts: await all("id, instance_admin::int, disabled_at", "account"),
		realms: await all("id, user_id, deleted_at", "realm"),
		bindings: await all("realm_id, user_id, role", "binding"),
		tokens: await all("id, user_id, name, prefix, scopes, realm_id, environment, engines, expires_at", "api_token"),
		configs: await all("id, engine, realm_id", "engine_config WHERE state = 'active'"),
		providers: await all("name, id", "sso_provider"),
		identities: await all("id, user_id", "sso_identity"),
	};
}

/** Reads the rows of machines that grant something. */
async function machineRows(sql: Sql): Promise<MachineRows> {
	const all = <Row>(columns: string, from: string) => sql.rows<Row>(`SELECT ${columns} FROM ${from}`);
	return {
		machines: await all("id, realm_id, name, role, scopes, environment, engines", "machine"),
		machine_tokens: await all("id, machine_id, name, prefix, expires_at", "machine_token"),
		trusts: await all("*", "trust"),
	};
}

/** Compares rows with their fingerprints in the log, and events with their makers: those of one share of all names at a time. */
async function compareNames(sql: Sql, keys: readonly RowKey[]): Promise<Named> {
	const found: Named[] = [];
	for (const isMine of sharesOf(await countRows(sql))) {
		const replay = createRowReplay(keys, isMine);
		for (const table of NAMED_TABLES) await addRows(sql, table, replay);
		for await (const event of everyEvent(sql)) replay.take(event);
		const toTell = await sql.rows("SELECT 1 FROM meta WHERE name = 'restore_to_tell'");
		found.push(replay.end(toTell.length > 0));
	}
	return joinNamed(found);
}

async function addRows(sql: Sql, table: RowTable, replay: RowReplay): Promise<void> {
	const query = `SELECT ${coveredColumns(table).join(", ")}, mac FROM ${table}`;
	for await (const { mac, ...row } of everyRow<Record<string, RowValue>>(sql, `named_${table}`, query))
		replay.addRow({ table, mac: mac ?? null, text: textOf(table, row) });
}

async function countRows(sql: Sql): Promise<number> {
	const counts = NAMED_TABLES.map((table) => `(SELECT count(*) FROM ${table})`);
	const [found] = await sql.rows<{ total: number }>(`SELECT ${counts.join(" + ")} AS total`);
	return found?.total ?? 0;
}
