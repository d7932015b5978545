import { isConfirmed } from "../../../factors/decide.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, eq, sql } from "../drizzle.ts";
import { factor, recoveryCodes, session } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

const { placeholder } = sql;

/** Questions about second factors. */
export function factorReads(db: ReadConnection): Implementations<"read">["factors"] {
	const ofUser = lazy(() =>
		db
			.select()
			.from(factor)
			.where(eq(factor.user_id, placeholder("user_id")))
			.orderBy(asc(factor.created_at), asc(factor.id))
			.prepare(),
	);
	const codes = lazy(() =>
		db
			.select()
			.from(recoveryCodes)
			.where(eq(recoveryCodes.user_id, placeholder("user_id")))
			.prepare(),
	);
	const password = lazy(() =>
		db
			.select({ jti: session.jti })
			.from(session)
			.where(and(eq(session.jti, placeholder("jti")), eq(session.provider, "")))
			.prepare(),
	);
	const isAsked = (user_id: string) => ofUser().all({ user_id }).some(isConfirmed);
	return {
		isLacking: (jti, user_id) => password().get({ jti }) !== undefined && !isAsked(user_id),
		ofUser: (user_id) => ofUser().all({ user_id }),
		recoveryCodes: (user_id) => codes().get({ user_id }),
	};
}
