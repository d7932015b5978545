import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, sql } from "../drizzle.ts";
import { trust } from "../schema.ts";
import { lazy, type ReadConnection, unverified } from "./read-connection.ts";

const { placeholder } = sql;

/** Questions about trusts. */
export function trustReads(db: ReadConnection): Implementations<"read">["trusts"] {
	const ofMachine = eq(trust.machine_id, placeholder("machine_id"));
	const byName = lazy(() =>
		db
			.select()
			.from(trust)
			.where(and(ofMachine, eq(trust.name, placeholder("name"))))
			.prepare(),
	);
	const list = lazy(() =>
		db
			.select()
			.from(trust)
			.where(and(ofMachine, gt(trust.name, placeholder("after"))))
			.orderBy(asc(trust.name))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() => db.select({ total: count() }).from(unverified("trust")).where(ofMachine).prepare());
	return {
		byName: (machine_id, name) => byName().get({ machine_id, name }),
		list: (machine_id, after, limit) => list().all({ machine_id, after, limit }),
		count: (machine_id) => total().get({ machine_id })?.total ?? 0,
	};
}
