import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, or, sql } from "../drizzle.ts";
import { deletedSecret } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

type Reads = Pick<Implementations<"read">["secrets"], "deleted" | "countDeleted">;

const { placeholder } = sql;
const shown = {
	id: deletedSecret.id,
	realm_id: deletedSecret.realm_id,
	environment: deletedSecret.environment,
	key: deletedSecret.key,
	version: deletedSecret.version,
	deleted_by: deletedSecret.deleted_by,
	deleted_at: deletedSecret.deleted_at,
};

const isRestorable = and(
	eq(deletedSecret.realm_id, placeholder("realm_id")),
	or(eq(placeholder("environment") as never, ""), eq(deletedSecret.environment, placeholder("environment"))),
	gt(deletedSecret.deleted_at, placeholder("since")),
);

/** Questions about secrets that were deleted and can be restored. */
export function deletedSecretReads(db: Reader): Reads {
	const list = later(() =>
		db
			.select(shown)
			.from(deletedSecret)
			.where(and(isRestorable, gt(deletedSecret.id, placeholder("after"))))
			.orderBy(asc(deletedSecret.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = later(() => db.select({ total: count() }).from(deletedSecret).where(isRestorable).prepare());
	return {
		deleted: (realm_id, environment, since, after, limit) =>
			list().all({ realm_id, environment: environment ?? "", since, after, limit }),
		countDeleted: (realm_id, environment, since) =>
			total().get({ realm_id, environment: environment ?? "", since })?.total ?? 0,
	};
}
