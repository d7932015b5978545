import type { DatabaseSync } from "node:sqlite";
import { eventHash, GENESIS } from "../../packages/server/src/audit/chain.ts";
import type { StoredEvent } from "../../packages/server/src/audit/model.ts";
import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import { type Forgery, KEPT } from "./trial.ts";

const LAST = "(SELECT max(seq) FROM main.audit_event)";
const CUT = `DELETE FROM main.audit_event WHERE seq > ${LAST} - 5`;
const UNSIGNED = "DELETE FROM main.audit_checkpoint";
const HUSHED = "UPDATE main.audit_event SET type = 'auth.logout' WHERE seq = 12";
const LIES = `INSERT INTO main.audit_event SELECT seq + 100, timestamp, type, actor, realm_id, realm, data, hash FROM main.audit_event ORDER BY seq DESC LIMIT 5;
	UPDATE main.audit_event SET seq = (SELECT count(*) FROM main.audit_event AS o WHERE o.seq <= audit_event.seq) WHERE seq > 100`;

/** Makes a chain of what the log says now, as somebody does who knows its format. */
function rehash(database: DatabaseSync): void {
	const update = database.prepare("UPDATE main.audit_event SET hash = ? WHERE seq = ?");
	let previous: Buffer = GENESIS;
	for (const event of database.prepare("SELECT * FROM main.audit_event ORDER BY seq").all()) {
		previous = eventHash(previous, event as unknown as StoredEvent);
		update.run(previous, Number(event.seq));
	}
}

const bySql = (name: string, sql: string, isRehashed = false): Forgery => ({
	name: `log: ${name}`,
	apply: (database) =>
		tamperWith(database, () => {
			database.exec(sql);
			if (isRehashed) rehash(database);
		}),
});

/** Forgeries of the log's end and of its whole. Each is tried with forged rows, too. */
export const OF_LOG: readonly Forgery[] = [
	bySql("cut", CUT),
	bySql("cut with its checkpoints", `${CUT}; ${UNSIGNED}`),
	bySql("cut, and other events forged in their place", `${CUT}; ${LIES}`, true),
	bySql("cut, forged and without checkpoints", `${CUT}; ${LIES}; ${UNSIGNED}`, true),
	bySql("rehashed from the middle", HUSHED, true),
	bySql("rehashed from the middle, without checkpoints", `${HUSHED}; ${UNSIGNED}`, true),
	bySql(
		"its end as it once was",
		`DELETE FROM main.audit_event WHERE seq > (SELECT max(seq) FROM ${KEPT}.audit_event); ${UNSIGNED}; INSERT INTO main.audit_checkpoint SELECT * FROM ${KEPT}.audit_checkpoint`,
	),
	bySql("emptied", `DELETE FROM main.audit_event; ${UNSIGNED}`),
];

const SWAP = `UPDATE main.audit_event SET seq = -1 WHERE seq = 12; UPDATE main.audit_event SET seq = 12 WHERE seq = 13;
	UPDATE main.audit_event SET seq = 13 WHERE seq = -1`;

/** Forgeries within the log, which leave its end as it was. */
export const WITHIN_LOG: readonly Forgery[] = [
	...["timestamp", "type", "actor", "realm_id", "realm", "data"].map((column) =>
		bySql(`${column} changed`, `UPDATE main.audit_event SET ${column} = ${column} || ' ' WHERE seq = 12`),
	),
	bySql("hash changed", "UPDATE main.audit_event SET hash = zeroblob(32) WHERE seq = 12"),
	bySql("reordered", SWAP),
	bySql("an event deleted", "DELETE FROM main.audit_event WHERE seq = 12"),
	bySql("the first event deleted", "DELETE FROM main.audit_event WHERE seq = 1"),
	bySql(
		"an event invented before the first",
		"INSERT INTO main.audit_event SELECT 0, timestamp, type, actor, realm_id, realm, data, hash FROM main.audit_event WHERE seq = 1",
	),
	...["seq", "timestamp", "hash", "key_id", "signature"].map((column) =>
		bySql(
			`checkpoints' ${column} replaced`,
			column === "seq"
				? "UPDATE main.audit_checkpoint SET seq = seq - 1"
				: `UPDATE main.audit_checkpoint SET ${column} = ${column === "timestamp" ? "'2020-01-01T00:00:00.000Z'" : `zeroblob(length(${column}))`}`,
		),
	),
	bySql(
		"a checkpoint invented",
		`INSERT INTO main.audit_checkpoint SELECT 3, timestamp, hash, key_id, signature FROM main.audit_checkpoint LIMIT 1`,
	),
];

/** Forgeries of the tip. Each is tried with forged rows and logs, too. */
export const OF_TIP: readonly Forgery[] = [
	{ name: "tip: deleted", apply: (database) => database.exec("DELETE FROM main.tip") },
	{
		name: "tip: as it once was",
		apply: (database) => database.exec(`UPDATE main.tip SET sealed = (SELECT sealed FROM ${KEPT}.tip)`),
	},
	{
		name: "tip: invented",
		apply: (database) => database.exec("UPDATE main.tip SET sealed = randomblob(length(sealed))"),
	},
	{
		name: "tip: another sealed value",
		apply: (database) => database.exec("UPDATE main.tip SET sealed = (SELECT sealed FROM main.engine_config)"),
	},
	{
		name: "tip: a second one",
		apply: (database) => database.exec("INSERT INTO main.tip SELECT id + 1, sealed FROM main.tip"),
	},
	{
		name: "tip: a second one, as it once was",
		apply: (database) => database.exec(`INSERT INTO main.tip SELECT id + 1, sealed FROM ${KEPT}.tip`),
	},
];
