import type { Implementations } from "../../store.ts";
import { and, asc, eq, getTableColumns, sql } from "../drizzle.ts";
import { ssoIdentity, ssoProvider } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

type Reads = Implementations<"read">["sso"];

const { placeholder } = sql;

/** Questions about providers and identities. */
export function ssoReads(db: ReadConnection): Reads {
	const all = lazy(() => db.select().from(ssoProvider).orderBy(asc(ssoProvider.name)).prepare());
	const one = lazy(() =>
		db
			.select()
			.from(ssoProvider)
			.where(eq(ssoProvider.name, placeholder("name")))
			.prepare(),
	);
	const identity = lazy(() =>
		db
			.select({ user_id: ssoIdentity.user_id })
			.from(ssoIdentity)
			.where(
				and(
					eq(ssoIdentity.provider, placeholder("provider")),
					eq(ssoIdentity.issuer, placeholder("issuer")),
					eq(ssoIdentity.subject, placeholder("subject")),
				),
			)
			.prepare(),
	);
	const { user_id: _, ...shown } = getTableColumns(ssoIdentity);
	const ofUser = lazy(() =>
		db
			.select(shown)
			.from(ssoIdentity)
			.where(eq(ssoIdentity.user_id, placeholder("user_id")))
			.orderBy(asc(ssoIdentity.created_at), asc(ssoIdentity.id))
			.prepare(),
	);
	return {
		providers: () => all().all(),
		provider: (name) => one().get({ name }),
		owner: (key) => identity().get({ ...key })?.user_id,
		identitiesOf: (user_id) => ofUser().all({ user_id }),
	};
}
