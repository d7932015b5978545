import type { Implementations } from "../../store.ts";
import { and, eq, gt, sql } from "../drizzle.ts";
import { resetCode } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

const { placeholder } = sql;

/** Questions about reset codes. */
export function resetReads(db: ReadConnection): Implementations<"read">["resets"] {
	const one = lazy(() =>
		db
			.select()
			.from(resetCode)
			.where(and(eq(resetCode.user_id, placeholder("user_id")), gt(resetCode.expires_at, placeholder("now"))))
			.prepare(),
	);
	return { ofUser: (user_id, now) => one().get({ user_id, now }) };
}
