import type { Database } from "better-sqlite3";
import type { SessionOwner } from "../../../accounts/model.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, gte, isNull, lt, sql } from "../drizzle.ts";
import { everRegistered } from "../ever-registered.ts";
import { account, accountLimit, apiToken, knownSource, realm, session } from "../schema.ts";
import { lazy, type ReadConnection, unverified } from "./read-connection.ts";

type Reads = Implementations<"read">["accounts"];

const { placeholder } = sql;

/** Questions about accounts and sessions. */
export function accountReads(db: ReadConnection, connection: Database): Reads {
	const byEmail = lazy(() =>
		db
			.select()
			.from(account)
			.where(eq(account.email, placeholder("email")))
			.prepare(),
	);
	const byId = lazy(() =>
		db
			.select()
			.from(account)
			.where(eq(account.id, placeholder("id")))
			.prepare(),
	);
	const list = lazy(() =>
		db
			.select()
			.from(account)
			.where(gt(account.id, placeholder("after")))
			.orderBy(asc(account.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() => db.select({ total: count() }).from(sql`account`).prepare());
	const live = lazy(() =>
		db
			.select({ user_id: session.user_id })
			.from(session)
			.where(
				and(
					eq(session.jti, placeholder("jti")),
					eq(session.user_id, placeholder("user_id")),
					gt(session.expires_at, placeholder("now")),
				),
			)
			.prepare(),
	);
	const owner = accountOf(db);
	return {
		...sessionReads(db),
		byEmail: (email) => byEmail().get({ email }),
		byId: (id) => byId().get({ id }),
		startingWith: startingWithOf(db),
		hadAny: everRegistered(connection),
		list: (after, limit) => list().all({ after, limit }),
		holdings: holdingsOf(db),
		limits: limitsOf(db),
		count: () => total().get()?.total ?? 0,
		isKnownSource: knownSourceOf(db),
		sessionOwner: (jti, user_id, now) => live().get({ jti, user_id, now }) && owner(user_id),
	};
}

/** Prepares the question of whether an account signed in from a source. */
function knownSourceOf(db: ReadConnection): Reads["isKnownSource"] {
	const known = lazy(() =>
		db
			.select({ seen_at: knownSource.seen_at })
			.from(knownSource)
			.where(and(eq(knownSource.pair, placeholder("pair")), gt(knownSource.seen_at, placeholder("since"))))
			.prepare(),
	);
	return (pairs, since) => pairs.some((pair) => known().get({ pair, since }) !== undefined);
}

/** Behind every character that an e-mail may hold. */
const LAST_CHARACTER = "\u{10ffff}";

/** Prepares the question for accounts by the beginning of their e-mail. */
function startingWithOf(db: ReadConnection): Reads["startingWith"] {
	const some = lazy(() =>
		db
			.select()
			.from(account)
			.where(and(gte(account.email, placeholder("start")), lt(account.email, placeholder("end"))))
			.orderBy(asc(account.email))
			.limit(placeholder("limit"))
			.prepare(),
	);
	return (start, limit) => some().all({ start, end: start + LAST_CHARACTER, limit });
}

/** Prepares the questions for a session, and for the open ones of an account. */
function sessionReads(db: ReadConnection): Pick<Reads, "session" | "sessions"> {
	const one = lazy(() =>
		db
			.select()
			.from(session)
			.where(eq(session.jti, placeholder("jti")))
			.prepare(),
	);
	const open = lazy(() =>
		db
			.select()
			.from(session)
			.where(
				and(
					eq(session.user_id, placeholder("user_id")),
					gt(session.expires_at, placeholder("now")),
					gt(session.jti, placeholder("after")),
				),
			)
			.orderBy(asc(session.jti))
			.limit(placeholder("limit"))
			.prepare(),
	);
	return {
		session: (jti) => one().get({ jti }),
		sessions: (user_id, now, after, limit) => open().all({ user_id, now, after, limit }),
	};
}

/** Prepares the question of how much an account holds. */
function holdingsOf(db: ReadConnection): Reads["holdings"] {
	const sessions = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("session"))
			.where(and(eq(session.user_id, placeholder("user_id")), gt(session.expires_at, placeholder("now"))))
			.prepare(),
	);
	const tokens = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("api_token"))
			.where(eq(apiToken.user_id, placeholder("user_id")))
			.prepare(),
	);
	const realms = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("realm"))
			.where(eq(realm.user_id, placeholder("user_id")))
			.prepare(),
	);
	return (user_id, now) => ({
		sessions: sessions().get({ user_id, now })?.total ?? 0,
		tokens: tokens().get({ user_id })?.total ?? 0,
		realms: realms().get({ user_id })?.total ?? 0,
	});
}

/** Prepares the question of which limits an account has of its own. */
function limitsOf(db: ReadConnection): Reads["limits"] {
	const limits = lazy(() =>
		db
			.select({ realm_bytes: accountLimit.realm_bytes, realms: accountLimit.realms })
			.from(accountLimit)
			.where(eq(accountLimit.user_id, placeholder("user_id")))
			.prepare(),
	);
	return (user_id) => limits().get({ user_id }) ?? { realm_bytes: null, realms: null };
}

/** Prepares the question for a token's owner: an account that is not disabled. */
export function accountOf(db: ReadConnection): (user_id: string) => SessionOwner | undefined {
	const owner = lazy(() =>
		db
			.select({ user_id: account.id, email: account.email, name: account.name, instance_admin: account.instance_admin })
			.from(account)
			.where(and(eq(account.id, placeholder("user_id")), isNull(account.disabled_at)))
			.prepare(),
	);
	return (user_id) => owner().get({ user_id });
}
