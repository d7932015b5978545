import type { Implementations } from "../../store.ts";
import { and, eq, gt, sql } from "../drizzle.ts";
import { resetCode } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about reset codes. */
export function resetReads(db: Reader): Implementations<"read">["resets"] {
	const one = later(() =>
		db
			.select()
			.from(resetCode)
			.where(and(eq(resetCode.user_id, placeholder("user_id")), gt(resetCode.expires_at, placeholder("now"))))
			.prepare(),
	);
	return { ofUser: (user_id, now) => one().get({ user_id, now }) };
}
