import type { Implementations } from "../../store.ts";
import { asc, eq, sql } from "../drizzle.ts";
import { factor, recoveryCodes } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about second factors. */
export function factorReads(db: Reader): Implementations<"read">["factors"] {
	const ofUser = later(() =>
		db
			.select()
			.from(factor)
			.where(eq(factor.user_id, placeholder("user_id")))
			.orderBy(asc(factor.created_at), asc(factor.id))
			.prepare(),
	);
	const codes = later(() =>
		db
			.select()
			.from(recoveryCodes)
			.where(eq(recoveryCodes.user_id, placeholder("user_id")))
			.prepare(),
	);
	return {
		ofUser: (user_id) => ofUser().all({ user_id }),
		recoveryCodes: (user_id) => codes().get({ user_id }),
	};
}
