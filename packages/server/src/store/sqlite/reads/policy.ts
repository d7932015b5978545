import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, sql } from "../drizzle.ts";
import { binding } from "../schema.ts";
import { asItIs, later, type Reader } from "./reader.ts";

type Reads = Implementations<"read">["policy"];

const { placeholder } = sql;

/** Questions about bindings. */
export function policyReads(db: Reader): Reads {
	const list = later(() =>
		db
			.select()
			.from(binding)
			.where(and(eq(binding.realm_id, placeholder("realm_id")), gt(binding.id, placeholder("after"))))
			.orderBy(asc(binding.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = later(() =>
		db
			.select({ total: count() })
			.from(asItIs("binding"))
			.where(eq(binding.realm_id, placeholder("realm_id")))
			.prepare(),
	);
	return {
		list: (realm_id, after, limit) => list().all({ realm_id, after, limit }),
		count: (realm_id) => total().get({ realm_id })?.total ?? 0,
	};
}
