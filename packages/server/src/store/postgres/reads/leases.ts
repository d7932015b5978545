import { type LeaseFilter, OPEN_STATES } from "../../../leases/model.ts";
import { isIn } from "../../lease-states.ts";
import { OPEN_TARGETS } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import { IS_UNCLAIMED } from "../claims.ts";
import type { Async, Snapshot } from "../database.ts";

type LeaseReads = Async<Implementations<"read">["leases"] & Implementations<"scan">["leases"]>;

/** Answers questions about leases. @param isShared whether other servers claim leases, too: a claimed one is due on no server */
export function leaseReads(db: Snapshot, isShared: boolean): LeaseReads {
	return { ...single(db), ...queue(db, isShared ? IS_UNCLAIMED : "true"), ...lists(db), ...counts(db), ...marks(db) };
}

function single(db: Snapshot): Pick<LeaseReads, "byId" | "byCredential" | "byNames"> {
	const named = "target = $1 AND scope = $2 AND name <> ''";
	return {
		async byId(id) {
			return (await db.checked("lease", "id = $1", [id]))[0];
		},
		async byCredential({ target, scope, name }) {
			return (await db.stored("lease", `${named} AND name = $3`, [target, scope, name]))[0];
		},
		byNames: (target, scope, names) =>
			db.sql.rows(`SELECT id, name, state, reason FROM lease WHERE ${named} AND name = ANY($3::text[])`, [
				...[target, scope, names],
			]),
	};
}

function queue(db: Snapshot, isFree: string): Pick<LeaseReads, "due" | "activeAt" | "openTargets" | "nextDue"> {
	const open = () => db.sql.rows<{ target: string; due_at: number }>(OPEN_TARGETS);
	return {
		due: (target, now_ms, limit, from_ms = 0) =>
			db.sql.rows(
				`SELECT id, engine, config_id, state, due_at FROM lease
				WHERE target = $1 AND due_at >= $2 AND due_at <= $3 AND ${isFree} ORDER BY due_at LIMIT $4`,
				[target, from_ms, now_ms, limit],
			),
		activeAt: (target, after, limit) =>
			db.stored(
				"lease",
				"target = $1 AND state = 'active' AND due_at IS NOT NULL AND (due_at, id) > ($2, $3) ORDER BY due_at, id LIMIT $4",
				[target, after?.due_at ?? 0, after?.id ?? "", limit],
			),
		openTargets: async () => (await open()).map(({ target }) => target),
		async nextDue() {
			const times = (await open()).map(({ due_at }) => due_at);
			return times.length === 0 ? undefined : Math.min(...times);
		},
	};
}

function lists(db: Snapshot): Pick<LeaseReads, "list" | "count"> {
	return {
		list(filter, before, limit) {
			const { condition, values } = among(filter, 2);
			return db.checked("lease", `${condition} AND id < $1 ORDER BY id DESC LIMIT $2`, [before, limit, ...values]);
		},
		count(filter) {
			const { condition, values } = among(filter, 0);
			return db.count("lease", condition, values);
		},
	};
}

/** Writes the condition of a filter, and its values. @param given values that the statement has before these */
function among({ engine, realm_id, state }: LeaseFilter, given: number): { condition: string; values: string[] } {
	const values: string[] = [];
	const conditions = ["true"];
	for (const [column, value] of Object.entries({ engine, realm_id, state }))
		if (value !== "") conditions.push(`${column} = $${values.push(value) + given}`);
	return { condition: conditions.join(" AND "), values };
}

const OPEN = `due_at IS NOT NULL AND ${isIn(OPEN_STATES)}`;

function counts(db: Snapshot): Pick<LeaseReads, "counts" | "openByConfig" | "openByRealm"> {
	return {
		counts: () =>
			db.sql.rows(`SELECT engine, state, count(*) AS count FROM lease WHERE ${OPEN} GROUP BY engine, state`),
		openByConfig: () =>
			db.sql.rows(
				`SELECT engine, config_realm_id AS realm_id, count(*) AS open FROM lease WHERE ${OPEN} GROUP BY 1, 2`,
			),
		openByRealm: (limit) =>
			db.sql.rows(
				`SELECT engine, realm_id, count(*) AS open FROM lease WHERE ${OPEN} AND config_realm_id = ''
				GROUP BY 2, 1 ORDER BY open DESC, realm_id, engine LIMIT $1`,
				[limit],
			),
	};
}

function marks(db: Snapshot): Pick<LeaseReads, "clock" | "pausedAt"> {
	const meta = async (name: string) => (await db.verified("meta", "name = $1", [name]))[0]?.value;
	return {
		pausedAt: () => meta("leases_paused"),
		async clock() {
			const mark = await meta("lease_clock");
			return mark === undefined ? undefined : JSON.parse(mark);
		},
	};
}
