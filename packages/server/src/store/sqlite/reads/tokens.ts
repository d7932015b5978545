import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, sql } from "../drizzle.ts";
import { apiToken } from "../schema.ts";
import { accountOf } from "./accounts.ts";
import { later, type Reader } from "./reader.ts";

type Reads = Implementations<"read">["tokens"];

const { placeholder } = sql;

/** Questions about API tokens. */
export function tokenReads(db: Reader): Reads {
	const byDigest = later(() =>
		db
			.select()
			.from(apiToken)
			.where(eq(apiToken.digest, placeholder("digest")))
			.prepare(),
	);
	const account = accountOf(db);
	const byId = later(() =>
		db
			.select()
			.from(apiToken)
			.where(eq(apiToken.id, placeholder("id")))
			.prepare(),
	);
	const list = later(() =>
		db
			.select()
			.from(apiToken)
			.where(and(eq(apiToken.user_id, placeholder("user_id")), gt(apiToken.id, placeholder("after"))))
			.orderBy(asc(apiToken.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = later(() =>
		db
			.select({ total: count() })
			.from(apiToken)
			.where(eq(apiToken.user_id, placeholder("user_id")))
			.prepare(),
	);
	return {
		owner(digest) {
			const token = byDigest().get({ digest });
			const owner = token && account(token.user_id);
			return owner && { ...token, ...owner };
		},
		byId: (id) => byId().get({ id }),
		list: (user_id, after, limit) => list().all({ user_id, after, limit }),
		count: (user_id) => total().get({ user_id })?.total ?? 0,
	};
}
