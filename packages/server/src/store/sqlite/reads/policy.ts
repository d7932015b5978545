import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, sql } from "../drizzle.ts";
import { binding } from "../schema.ts";
import { lazy, type ReadConnection, unverified } from "./read-connection.ts";

type Reads = Implementations<"read">["policy"];

const { placeholder } = sql;

/** Questions about bindings. */
export function policyReads(db: ReadConnection): Reads {
	const list = lazy(() =>
		db
			.select()
			.from(binding)
			.where(and(eq(binding.realm_id, placeholder("realm_id")), gt(binding.id, placeholder("after"))))
			.orderBy(asc(binding.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("binding"))
			.where(eq(binding.realm_id, placeholder("realm_id")))
			.prepare(),
	);
	return {
		list: (realm_id, after, limit) => list().all({ realm_id, after, limit }),
		count: (realm_id) => total().get({ realm_id })?.total ?? 0,
	};
}
