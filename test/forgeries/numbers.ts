import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import type { Forgery } from "./trial.ts";

/** The largest number that SQLite gives a row; after it, there is no next one. */
const LAST = "9223372036854775807";

const bySql = (name: string, sql: string): Forgery => ({
	name: `number: ${name}`,
	apply: (database) => tamperWith(database, () => database.exec(sql)),
});

const lastRow = (table: string): Forgery =>
	bySql(
		`the last row of ${table}`,
		`UPDATE main.${table} SET rowid = ${LAST} WHERE rowid = (SELECT max(rowid) FROM main.${table})`,
	);

/** Tables whose rows have a number that decides nothing. */
export const ROWS_WITH_NUMBERS = ["account", "api_token", "realm", "binding", "lease", "secret_version"];

/** Forgeries after which SQLite, or a number of JavaScript, can count no further. */
export const OF_NUMBERS: readonly Forgery[] = [
	...ROWS_WITH_NUMBERS.map(lastRow),
	bySql("the last secret", `UPDATE main.secret SET id = ${LAST} WHERE key = 'SECOND'`),
	bySql("the secret before the next", `UPDATE main.sqlite_sequence SET seq = ${LAST} WHERE name = 'secret'`),
	bySql(
		"a secret shortly before the next",
		"UPDATE main.sqlite_sequence SET seq = 9007199254740989 WHERE name = 'secret'",
	),
	bySql("secrets from the beginning", "UPDATE main.sqlite_sequence SET seq = 0 WHERE name = 'secret'"),
	bySql("no secret before the next", "DELETE FROM main.sqlite_sequence"),
	bySql(
		"the last event",
		`UPDATE main.audit_event SET seq = ${LAST} WHERE seq = (SELECT max(seq) FROM main.audit_event)`,
	),
	bySql(
		"an event after all others",
		`INSERT INTO main.audit_event SELECT ${LAST}, timestamp, type, actor, realm_id, realm, data, hash FROM main.audit_event WHERE seq = 1`,
	),
	...["9007199254740990", "9007199254740991"].map((seq) =>
		bySql(
			`an event of number ${seq}`,
			`INSERT INTO main.audit_event SELECT ${seq}, timestamp, type, actor, realm_id, realm, data, hash FROM main.audit_event WHERE seq = 1`,
		),
	),
	bySql(
		"the last checkpoint",
		`UPDATE main.audit_checkpoint SET seq = ${LAST} WHERE seq = (SELECT max(seq) FROM main.audit_checkpoint)`,
	),
	bySql("the last version", `UPDATE main.secret SET version = ${LAST} WHERE key = 'SECOND'`),
	bySql("the last configuration", `UPDATE main.engine_config SET ordinal = ${LAST}`),
	bySql("a lease that is due last", `UPDATE main.lease SET due_at = ${LAST} WHERE due_at IS NOT NULL`),
];
