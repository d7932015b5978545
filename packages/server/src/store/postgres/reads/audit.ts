import { GENESIS } from "../../../audit/chain.ts";
import type { EventQuery, EventScope } from "../../../audit/event-query.ts";
import type { Anchor, ChainedEvent, Checkpoint, LatestProof, ListedEvent, StoredEvent } from "../../../audit/model.ts";
import { beginVerification } from "../../../audit/verify.ts";
import type { RowKey } from "../../../crypto/row-macs.ts";
import { SETS_WITH_KEYS } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import { matchesIndex } from "../event-index.ts";
import { auditDays } from "./audit-days.ts";
import { namedKeys, soundSets } from "./key-sets.ts";
import { COLUMNS, everyEvent } from "./log-segments.ts";
import { realmsOf } from "./realm-rows.ts";
import { compareRows } from "./row-comparison.ts";

type AuditReads = Async<Implementations<"read">["audit"] & Implementations<"scan">["audit"]>;

/** Answers questions about the log. @param keys those of the rows */
export function auditReads(db: Snapshot, keys: () => readonly RowKey[]): AuditReads {
	const { sql } = db;
	return {
		async head() {
			const [newest = { seq: 0, hash: GENESIS }] = await sql.rows<Pick<StoredEvent, "seq" | "hash">>(
				"SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1",
			);
			return { events: newest.seq, hash: newest.hash, position: String(newest.seq) };
		},
		list: (query, before, limit) => listEvents(db, query, before, limit),
		async count(query) {
			const { where, values } = await conditionOf(db, query, 0);
			const [found] = await sql.rows<{ total: number }>(
				`SELECT count(*) AS total FROM audit_event WHERE ${where}`,
				values,
			);
			return found?.total ?? 0;
		},
		async export(query, { after = "0", last }, limit) {
			const { where, values } = await conditionOf(db, query, 3);
			const found = await sql.rows<StoredEvent & { previous_hash: Buffer | null }>(
				`SELECT ${COLUMNS}, (SELECT hash FROM audit_event AS before WHERE before.seq = audit_event.seq - 1) AS previous_hash
				FROM audit_event WHERE ${where} AND seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`,
				[Number(after), Number(last), limit, ...values],
			);
			return found.map(
				(event): ChainedEvent => ({ ...withPosition(event), previous_hash: event.previous_hash ?? GENESIS }),
			);
		},
		keys: (realm_id, hash) => namedKeys(sql, realm_id, hash),
		checkpoints: (after, limit) =>
			sql.rows<Checkpoint>(
				"SELECT seq, timestamp, hash, key_id, signature FROM audit_checkpoint WHERE seq > $1 ORDER BY seq LIMIT $2",
				[after, limit],
			),
		latest: () => latestProof(db),
		...auditDays(sql),
		async verify(anchors) {
			const own = await sql.rows<Anchor>("SELECT seq, hash FROM audit_checkpoint");
			const verification = beginVerification([...own, ...anchors]);
			const isSound = soundSets(sql);
			for await (const event of everyEvent(sql))
				if (!verification.take(event, matchesIndex(event) && (await isSound(event)))) break;
			return verification.report();
		},
		compare: () => compareRows(sql, keys()),
	};
}

async function listEvents(
	db: Snapshot,
	{ environment, ...query }: EventQuery,
	before: string | undefined,
	limit: number,
): Promise<ListedEvent[]> {
	const { where, values, place } = await conditionOf(db, query, 2);
	// Each has an index with its events in order; together they have none.
	const kinds = environment === undefined ? ["true"] : kindsOf(environment, place);
	const pages = kinds.map(
		(kind) => `(SELECT ${COLUMNS} FROM audit_event WHERE ${where} AND ${kind} AND seq < $1 ORDER BY seq DESC LIMIT $2)`,
	);
	const found = await db.sql.rows<StoredEvent>(
		`SELECT ${COLUMNS} FROM (${pages.join(" UNION ALL ")}) AS found ORDER BY seq DESC LIMIT $2`,
		[Number(before ?? Number.MAX_SAFE_INTEGER), limit, ...values],
	);
	return found.map(withPosition);
}

async function latestProof({ sql }: Snapshot): Promise<LatestProof> {
	const [checkpoint] = await sql.rows<Checkpoint>(
		"SELECT seq, timestamp, hash, key_id, signature FROM audit_checkpoint ORDER BY seq DESC LIMIT 1",
	);
	const [verified] = await sql.rows<StoredEvent>(
		`SELECT ${COLUMNS} FROM audit_event WHERE type = 'audit.verified' ORDER BY seq DESC LIMIT 1`,
	);
	return { checkpoint, verified };
}

function withPosition<Row extends StoredEvent>(event: Row): Row & ListedEvent {
	return { ...event, position: String(event.seq) };
}

/** Writes the condition that a query's events meet, and its values. @param given values that the statement has before these */
async function conditionOf(
	db: Snapshot,
	query: EventQuery,
	given: number,
): Promise<{ where: string; values: unknown[]; place: Place }> {
	const values: unknown[] = [];
	const place: Place = (value) => `$${given + values.push(value)}`;
	const { scopes, realm, realm_id, type, actors, key, environment, token, since, until } = query;
	const texts: string[] = [];
	for (const scope of scopes) texts.push(await scopeText(db, scope, place));
	const conditions = [`(${texts.join(" OR ") || "false"})`];
	const isOfRealm = realm_id === undefined ? "" : ` OR realm_id = ${place(realm_id)}`;
	if (realm !== undefined) conditions.push(`(realm = ${place(realm)}${isOfRealm})`);
	if (type?.endsWith(ANY)) conditions.push(`starts_with(type, ${place(type.slice(0, -1))})`);
	else if (type !== undefined) conditions.push(`type = ${place(type)}`);
	if (actors !== undefined) conditions.push(`actor = ANY(${place(actors)}::text[])`);
	if (key !== undefined) {
		const seen = await seenBy(db, scopes);
		conditions.push(ofKey(place(key), seen && place(seen)));
	}
	if (environment !== undefined) conditions.push(`(${kindsOf(environment, place).join(" OR ")})`);
	if (token !== undefined) conditions.push(`token_id = ${place(token)}`);
	if (since !== undefined) conditions.push(`timestamp >= ${place(since)}`);
	if (until !== undefined) conditions.push(`timestamp < ${place(until)}`);
	return { where: conditions.join(" AND "), values, place };
}

/** Adds a value to those of a statement, and names it there. */
type Place = (value: unknown) => string;

/** End of a type that stands for all types with the same beginning. */
const ANY = ".*";

/** Condition that an event names a key, or a set that holds it: one of these realms, so that the sets of others are not looked at. */
function ofKey(key: string, realms: string | undefined): string {
	const inRealms = realms === undefined ? "" : ` AND s.realm_id = ANY(${realms}::text[])`;
	return `(key = ${key} OR key_set IN (SELECT s.hash FROM ${SETS_WITH_KEYS} WHERE k.key = ${key}${inRealms}))`;
}

/** Conditions of the events that are about an environment, each of which meets one: a list of all names an empty one, and a comparison and a promotion name two. */
function kindsOf(environment: string, place: Place): string[] {
	// PostgreSQL reads no JSON that holds U+0000; no text of another fact has quotes that are not escaped.
	const named = ["to_environment", "from_environment"].map((name) => {
		const fact = place(`"${name}":${JSON.stringify(environment)}`);
		return `strpos(data, ${fact}) > 0`;
	});
	const own = place(environment);
	const isOther = `(environment IS NULL OR environment NOT IN ('', ${own}))`;
	return [
		`environment = ${own}`,
		"environment = ''",
		`(strpos(data, '_environment":"') > 0 AND ${isOther} AND (${named.join(" OR ")}))`,
	];
}

/** Finds the realms whose events a query can see; undefined for all. */
async function seenBy(db: Snapshot, scopes: readonly EventScope[]): Promise<string[] | undefined> {
	const seen: string[] = [];
	for (const { member_id } of scopes) {
		if (member_id === undefined) return undefined;
		seen.push(...(await realmsOf(db, member_id)));
	}
	return seen;
}

async function scopeText(
	db: Snapshot,
	{ realm_ids, member_id, type, actor }: EventScope,
	place: (value: unknown) => string,
): Promise<string> {
	const conditions: string[] = [];
	if (realm_ids !== undefined) conditions.push(`realm_id = ANY(${place(realm_ids)}::text[])`);
	if (member_id !== undefined) conditions.push(`realm_id = ANY(${place(await realmsOf(db, member_id))}::text[])`);
	if (type !== undefined) conditions.push(`type = ${place(type)}`);
	if (actor !== undefined) conditions.push(`actor = ${place(actor)}`);
	return conditions.length === 0 ? "true" : `(${conditions.join(" AND ")})`;
}
