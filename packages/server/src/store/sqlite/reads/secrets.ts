import type { Database } from "better-sqlite3";
import { rowAltered } from "../../errors.ts";
import type { Implementations } from "../../store.ts";
import { and, count, desc, eq, isNull, lt, sql } from "../drizzle.ts";
import { secret, secretVersion } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";
import { secretListReads } from "./secret-lists.ts";

type Reads = Implementations<"read">["secrets"];

const { placeholder } = sql;

const stored = {
	id: secretVersion.id,
	version: secretVersion.version,
	value: secretVersion.value,
	pre_encrypted: secretVersion.pre_encrypted,
	comment: secretVersion.comment,
	expires_at: secretVersion.expires_at,
	created_by: secretVersion.created_by,
	created_at: secretVersion.created_at,
};

const byName = and(
	eq(secret.realm_id, placeholder("realm_id")),
	eq(secret.environment, placeholder("environment")),
	eq(secret.key, placeholder("key")),
);

/** Questions about secrets. A deleted secret has no versions, so looking for versions finds live secrets only. */
export function secretReads(db: ReadConnection, connection: Database): Reads {
	return {
		...single(db),
		...secretListReads(connection),
		...histories(db),
	};
}

function single(db: ReadConnection): Pick<Reads, "get" | "version"> {
	const { secret_id, version } = secretVersion;
	const versions = () => db.select(stored).from(secretVersion);
	const ofName = sql`${secret_id} = (SELECT ${secret.id} FROM ${secret} WHERE ${byName})`;
	const isLive = and(byName, isNull(secret.deleted_at));
	const get = lazy(() =>
		versions()
			.where(sql`(${secret_id}, ${version}) = (SELECT ${secret.id}, ${secret.version} FROM ${secret} WHERE ${isLive})`)
			.prepare(),
	);
	const live = lazy(() => db.select({ id: secret.id }).from(secret).where(isLive).prepare());
	const one = lazy(() =>
		versions()
			.where(and(ofName, eq(version, placeholder("version"))))
			.prepare(),
	);
	const isPast = sql`(SELECT ${secret.version} FROM ${secret} WHERE ${byName}) > ${placeholder("version")}`;
	const older = lazy(() =>
		db
			.select({ version })
			.from(secretVersion)
			.where(and(ofName, lt(version, placeholder("version")), isPast))
			.limit(1)
			.prepare(),
	);
	return {
		get(realm_id, environment, key) {
			const row = get().get({ realm_id, environment, key });
			if (row !== undefined) return { ...row, realm_id, environment, key };
			// Nothing of a live secret is no answer: somebody took its current version away.
			if (live().get({ realm_id, environment, key }) !== undefined) throw rowAltered();
			return undefined;
		},
		version(realm_id, environment, key, version) {
			const row = one().get({ realm_id, environment, key, version });
			// The oldest go first: one that is missing behind an older one was taken away.
			if (row === undefined && older().get({ realm_id, environment, key, version }) !== undefined) throw rowAltered();
			return row && { ...row, realm_id, environment, key };
		},
	};
}

/** Histories have no gaps: the oldest versions go first, and a number is never used again. */
function histories(db: ReadConnection): Pick<Reads, "history" | "countHistory"> {
	const history = lazy(() =>
		db
			.select({
				current: secret.version,
				version: secretVersion.version,
				created_at: secretVersion.created_at,
				created_by: secretVersion.created_by,
				comment: secretVersion.comment,
				expires_at: secretVersion.expires_at,
			})
			.from(secret)
			.innerJoin(secretVersion, eq(secretVersion.secret_id, secret.id))
			.where(and(byName, lt(secretVersion.version, placeholder("before"))))
			.orderBy(desc(secretVersion.version))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() =>
		db
			.select({ total: count() })
			.from(secret)
			.innerJoin(secretVersion, eq(secretVersion.secret_id, secret.id))
			.where(byName)
			.prepare(),
	);
	return {
		history(realm_id, environment, key, before, limit) {
			const found = history().all({ realm_id, environment, key, before: before ?? Number.MAX_SAFE_INTEGER, limit });
			return found.map(({ current, ...row }, index) => {
				if (row.version !== (before ?? current + 1) - 1 - index) throw rowAltered();
				return row;
			});
		},
		countHistory: (realm_id, environment, key) => total().get({ realm_id, environment, key })?.total ?? 0,
	};
}
