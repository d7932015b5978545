import type { Database } from "better-sqlite3";
import type { Comparison, Difference } from "../../audit/comparison.ts";
import type { GrantingRows } from "../../audit/granting-rows.ts";
import { GRANTING_TYPES } from "../../audit/granting-types.ts";
import { LoggedMachines, MACHINE_TYPES, type MachineRows } from "../../audit/machine-rights.ts";
import { LoggedRights } from "../../audit/rights.ts";
import type { RowKey } from "../../crypto/row-macs.ts";
import { joinDifferences } from "../row-descriptions.ts";
import { joinNamed } from "../row-replay.ts";
import { eventsUpTo, newest } from "./log-segments.ts";
import { compareNames } from "./name-comparison.ts";
import { describeMisnamed, describeStrange, nameOfDifference } from "./row-descriptions.ts";

/**
 * Compares what the rows grant with what the log granted: first what the events say in words, then each row with the fingerprint that the last event
 * kept of it; and each event with the account, token and session that made it.
 * @param keys of the rows; none for a database from before they authenticated themselves, which has no fingerprints
 */
export function compareRows(db: Database, keys: readonly RowKey[]): Comparison {
	const said = differencesOfRights(db);
	const { misnamed, strange, from } = keys.length === 0 ? joinNamed([]) : compareNames(db, keys);
	const { differences, nameless } = joinDifferences(said, describeMisnamed(db, misnamed));
	for (const difference of nameless) difference.name = nameOfDifference(db, difference);
	return { differences, strange: describeStrange(db, strange), named_from: from };
}

/** Compares the rows of one state of the database with the log up to then. */
function differencesOfRights(db: Database): Difference[] {
	const { rows, ofMachines, last } = db.transaction(() => ({
		rows: grantingRows(db),
		ofMachines: machineRows(db),
		last: newest(db),
	}))();
	const [logged, machines] = [new LoggedRights(rows), new LoggedMachines(ofMachines)];
	const isOfType = "type IN (SELECT value FROM json_each(@types))";
	const types = JSON.stringify([...GRANTING_TYPES, ...MACHINE_TYPES]);
	for (const event of eventsUpTo(db, last, isOfType, { types })) {
		logged.take(event);
		machines.take(event);
	}
	return [...logged.differences(rows), ...machines.differences(ofMachines)];
}

/** Reads the rows that grant something. */
function grantingRows(db: Database): GrantingRows {
	const all = <Row>(columns: string, from: string) => db.prepare(`SELECT ${columns} FROM ${from}`).all() as Row[];
	return {
		accounts: all("id, instance_admin, disabled_at", "account"),
		realms: all("id, user_id, deleted_at", "realm"),
		bindings: all("realm_id, user_id, role", "binding"),
		tokens: all("id, user_id, name, prefix, scopes, realm_id, environment, engines, expires_at", "api_token"),
		configs: all("id, engine, realm_id", "engine_config WHERE state = 'active'"),
		providers: all("name, id", "sso_provider"),
		identities: all("id, user_id", "sso_identity"),
	};
}

/** Reads the rows of machines that grant something; none from a file of an older schema. */
function machineRows(db: Database): MachineRows {
	const isThere = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'trust'").get();
	if (isThere === undefined) return { machines: [], machine_tokens: [], trusts: [] };
	type TrustRow = Omit<MachineRows["trusts"][number], "single_use"> & { single_use: number };
	const all = <Row>(columns: string, from: string) => db.prepare(`SELECT ${columns} FROM ${from}`).all() as Row[];
	return {
		machines: all("id, realm_id, name, role, scopes, environment, engines", "machine"),
		machine_tokens: all("id, machine_id, name, prefix, expires_at", "machine_token"),
		trusts: all<TrustRow>("*", "trust").map((row) => ({ ...row, single_use: row.single_use === 1 })),
	};
}
