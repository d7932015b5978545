import { OPEN_STATES } from "../../../leases/model.ts";
import { OPEN_TARGETS } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, eq, getTableColumns, gte, inArray, isNotNull, lte, ne, sql, sum } from "../drizzle.ts";
import { fits } from "../row-guard.ts";
import { lease, leaseCount, verifiedMeta } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

type Reads = Implementations<"read">["leases"];

const { placeholder } = sql;

/** Questions about leases that are answered immediately; lease-lists.ts answers lists. */
export function leaseReads(db: ReadConnection) {
	return { ...single(db), ...queue(db), ...targets(db), ...sums(db) };
}

function single(db: ReadConnection): Pick<Reads, "byId" | "byCredential" | "byNames"> {
	const altered = sql<number>`NOT ${sql.raw(fits("lease"))}`.mapWith(Boolean);
	const byId = lazy(() =>
		db
			.select({ ...getTableColumns(lease), altered })
			.from(lease)
			.where(eq(lease.id, placeholder("id")))
			.prepare(),
	);
	const at = and(eq(lease.target, placeholder("target")), eq(lease.scope, placeholder("scope")), ne(lease.name, ""));
	const byCredential = lazy(() =>
		db
			.select()
			.from(lease)
			.where(and(at, eq(lease.name, placeholder("name"))))
			.prepare(),
	);
	const byNames = lazy(() =>
		db
			.select({ id: lease.id, name: lease.name, state: lease.state, reason: lease.reason })
			.from(lease)
			.where(and(at, sql`${lease.name} IN (SELECT value FROM json_each(${placeholder("names")}))`))
			.prepare(),
	);
	return {
		byId: (id) => byId().get({ id }),
		byCredential: ({ target, scope, name }) => byCredential().get({ target, scope, name }),
		byNames: (target, scope, names) => byNames().all({ target, scope, names: JSON.stringify(names) }),
	};
}

const atTarget = eq(lease.target, placeholder("target"));

function queue(db: ReadConnection): Pick<Reads, "due" | "activeAt"> {
	const { id, engine, config_id, state, due_at } = lease;
	const due = lazy(() =>
		db
			.select({ id, engine, config_id, state, due_at })
			.from(lease)
			.where(and(atTarget, gte(lease.due_at, placeholder("from_ms")), lte(lease.due_at, placeholder("now_ms"))))
			.orderBy(asc(lease.due_at))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const active = lazy(() =>
		db
			.select()
			.from(lease)
			.where(
				and(
					atTarget,
					eq(lease.state, "active"),
					isNotNull(lease.due_at),
					sql`(${lease.due_at}, ${lease.id}) > (${placeholder("due_at")}, ${placeholder("id")})`,
				),
			)
			.orderBy(asc(lease.due_at), asc(lease.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	return {
		due: (target, now_ms, limit, from_ms = 0) => due().all({ target, now_ms, limit, from_ms }),
		activeAt: (target, after, limit) =>
			active().all({ target, due_at: after?.due_at ?? 0, id: after?.id ?? "", limit }),
	};
}

const open = sql`(${sql.raw(OPEN_TARGETS)})`;

function targets(db: ReadConnection): Pick<Reads, "openTargets" | "nextDue"> {
	const all = lazy(() => db.select({ target: sql<string>`target`, due_at: sql<number>`due_at` }).from(open).prepare());
	return {
		openTargets: () =>
			all()
				.all()
				.map(({ target }) => target),
		nextDue() {
			const times = all()
				.all()
				.map(({ due_at }) => due_at);
			return times.length === 0 ? undefined : Math.min(...times);
		},
	};
}

function sums(db: ReadConnection): Pick<Reads, "counts" | "clock" | "pausedAt"> {
	const counts = lazy(() =>
		db
			.select({ engine: leaseCount.engine, state: leaseCount.state, count: sum(leaseCount.count).mapWith(Number) })
			.from(leaseCount)
			.where(inArray(leaseCount.state, [...OPEN_STATES]))
			.groupBy(leaseCount.engine, leaseCount.state)
			.prepare(),
	);
	const clock = lazy(() =>
		db.select({ value: verifiedMeta.value }).from(verifiedMeta).where(eq(verifiedMeta.name, "lease_clock")).prepare(),
	);
	const paused = lazy(() =>
		db.select({ value: verifiedMeta.value }).from(verifiedMeta).where(eq(verifiedMeta.name, "leases_paused")).prepare(),
	);
	return {
		pausedAt: () => paused().get()?.value,
		counts: () => counts().all(),
		clock() {
			const row = clock().get();
			return row === undefined ? undefined : JSON.parse(row.value);
		},
	};
}
