/* SQL that both adapters run word for word. */
import { ROW_KINDS } from "./row-kinds.ts";

/**
 * Finds whether a database holds anything that its keys must authenticate. What lacks them is then no new database: another program emptied the rest, and
 * no key is made in the place of those that are gone.
 */
export const ANYTHING = [...Object.keys(ROW_KINDS), "audit_event", "audit_checkpoint"]
	.map((table) => `SELECT 1 FROM ${table}`)
	.join(" UNION ALL ")
	.concat(" LIMIT 1");

/**
 * Condition that a row of engine_config is retired, and no open lease was made with it or with an earlier one in its place: a later
 * configuration may hold the newer password of that lease's target.
 */
export const IS_UNUSED =
	"state = 'retired' AND NOT EXISTS (SELECT 1 FROM engine_config AS earlier JOIN lease ON lease.config_id = earlier.id " +
	"WHERE earlier.realm_id = engine_config.realm_id AND earlier.engine = engine_config.engine " +
	"AND earlier.ordinal <= engine_config.ordinal AND lease.due_at IS NOT NULL)";

/** Deleted realms with tokens limited to them, or with tokens or trusts of their machines. */
export const UNENDED = `SELECT id FROM realm WHERE deleted_at IS NOT NULL AND (
	EXISTS (SELECT 1 FROM api_token WHERE realm_id = realm.id)
	OR EXISTS (SELECT 1 FROM machine WHERE realm_id = realm.id AND (
		EXISTS (SELECT 1 FROM machine_token WHERE machine_id = machine.id) OR EXISTS (SELECT 1 FROM trust WHERE machine_id = machine.id))))`;

/** Targets with open leases. Targets are few and leases many: each step is one look into the index, and so is each first due time. */
export const OPEN_TARGETS = `WITH RECURSIVE open (target) AS (
	SELECT min(target) FROM lease WHERE due_at IS NOT NULL
	UNION ALL
	SELECT (SELECT min(target) FROM lease WHERE target > open.target AND due_at IS NOT NULL) FROM open WHERE open.target IS NOT NULL
)
SELECT target, (SELECT min(due_at) FROM lease WHERE target = open.target AND due_at IS NOT NULL) AS due_at
FROM open WHERE target IS NOT NULL`;

/** Joins the sets of keys, `s`, with the keys that they hold, `k`. */
export const SETS_WITH_KEYS = `audit_key k JOIN audit_key_in_part i ON i.key_id = k.id JOIN audit_part_in_set m ON m.part_id = i.part_id
	JOIN audit_key_set s ON s.id = m.set_id`;

/** Condition that a row of api_token or machine_token has not expired at an instant. @param at the adapter's parameter */
export const notExpiredAt = (at: string) => `coalesce(expires_at, '~') > ${at}`;

/** Condition that a row belongs to a machine of a realm. @param realm the adapter's parameter */
export const ofMachinesIn = (realm: string) => `machine_id IN (SELECT id FROM machine WHERE realm_id = ${realm})`;

/**
 * Rows that end permanently with their realm's deletion, by table: a restore brings none of them back. A part is at most this many, which take 20 ms:
 * a trust may hold 64 KiB of keys.
 * @param realm the adapter's parameter
 */
export const endedWithRealm = (realm: string) =>
	[
		{ table: "api_token", of: `realm_id = ${realm}`, most: 1000 },
		{ table: "machine_token", of: ofMachinesIn(realm), most: 1000 },
		{ table: "trust", of: ofMachinesIn(realm), most: 100 },
	] as const;
