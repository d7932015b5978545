import { keySetOf } from "../../../audit/key-parts.ts";
import type { SecretVersion, VersionInfo } from "../../../secrets/model.ts";
import { rowAltered } from "../../errors.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import { briefVersions } from "./brief-versions.ts";
import { currentVersionReads } from "./current-versions.ts";
import { deletedSecretReads } from "./deleted-secrets.ts";

type SecretReads = Async<Implementations<"read">["secrets"] & Implementations<"scan">["secrets"]>;

const NAMED = "realm_id = $1 AND environment = $2 AND key = $3";
const LIVE = "realm_id = $1 AND ($2::text IS NULL OR environment = $2) AND deleted_at IS NULL";

/** Answers questions about secrets. A deleted secret has no versions, so looking for versions finds live secrets only. */
export function secretReads(db: Snapshot): SecretReads {
	return {
		...single(db),
		...lists(db),
		...histories(db),
		...currentVersionReads(db),
		...deletedSecretReads(db),
		async keySet(ids) {
			const secrets = await db.briefly("secret", "created_at", "id = ANY($1::bigint[])", [[...ids]]);
			if (secrets.length < new Set(ids).size) return undefined;
			const { hash, parts } = keySetOf(new Set(secrets.map(({ key }) => key)));
			const stored = await db.sql.rows<{ hash: string }>(
				"SELECT hash FROM audit_key_part WHERE hash = ANY($1::text[])",
				[parts.map((part) => part.hash)],
			);
			const known = new Set(stored.map((part) => part.hash));
			return { hash, parts: parts.map((part) => (known.has(part.hash) ? { ...part, keys: undefined } : part)) };
		},
	};
}

function single(db: Snapshot): Pick<SecretReads, "get" | "version" | "versionsAt"> {
	const versionOf = async (secret_id: number, version: number) =>
		(await db.verified("secret_version", "secret_id = $1 AND version = $2", [secret_id, version]))[0];
	return {
		async get(realm_id, environment, key) {
			const [secret] = await db.verified("secret", `${NAMED} AND deleted_at IS NULL`, [realm_id, environment, key]);
			if (secret === undefined) return undefined;
			const found = await versionOf(secret.id, secret.version);
			// Nothing of a live secret is no answer: somebody took its current version away.
			if (found === undefined) throw rowAltered();
			return namedVersion(found, { realm_id, environment, key });
		},
		async version(realm_id, environment, key, version) {
			const [secret] = await db.verified("secret", NAMED, [realm_id, environment, key]);
			const found = secret && (await versionOf(secret.id, version));
			if (found !== undefined) return namedVersion(found, { realm_id, environment, key });
			// The oldest go first: one that is missing behind an older one was taken away.
			const isPast = secret !== undefined && version < secret.version;
			const isOlder = "secret_id = $1 AND version < $2";
			if (isPast && (await db.has("secret_version", isOlder, [secret.id, version]))) throw rowAltered();
			return undefined;
		},
		async versionsAt(wanted) {
			const ids = wanted.map(({ secret_id }) => secret_id);
			// A value opens under its own name alone: the name needs no MAC here.
			const names = new Map((await db.stored("secret", "id = ANY($1::bigint[])", [ids])).map((row) => [row.id, row]));
			const found = await db.verified(
				"secret_version",
				"(secret_id, version) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))",
				[ids, wanted.map(({ version }) => version)],
			);
			const versions = new Map(found.map((row) => [`${row.secret_id} ${row.version}`, row]));
			return wanted.map(({ secret_id, version }) => {
				const [name, row] = [names.get(secret_id), versions.get(`${secret_id} ${version}`)];
				return name && row && namedVersion(row, name);
			});
		},
	};
}

type Name = Pick<SecretVersion, "realm_id" | "environment" | "key">;

function namedVersion(
	{ secret_id: _, ...row }: Omit<SecretVersion, keyof Name> & { secret_id: number },
	{ realm_id, environment, key }: Name,
): SecretVersion {
	return { ...row, realm_id, environment, key };
}

function lists(db: Snapshot): Pick<SecretReads, "list" | "count" | "countExpiring"> {
	return {
		async list(realm_id, environment, after, limit) {
			const condition = `${LIVE} AND id > $3 ORDER BY id LIMIT $4`;
			const secrets = await db.verified("secret", condition, [realm_id, environment, Number(after), limit]);
			const versions = await briefVersions(db, secrets);
			return secrets.map(({ id: secret_id, environment, key }) => {
				const current = versions.get(secret_id);
				// A secret without its current version: somebody took that away.
				if (current === undefined) throw rowAltered();
				const { version, bytes, expires_at, created_at } = current;
				return { secret_id, environment, key, version, bytes, expires_at, created_at, position: String(secret_id) };
			});
		},
		// A realm may have 100,000: to check each would take a second.
		count: (realm_id, environment) => db.count("secret", LIVE, [realm_id, environment]),
		async countExpiring(before, most) {
			// As the rows say: a metric asks for it, and an altered row must not end all metrics.
			const [found] = await db.sql.rows<{ total: number }>(
				`SELECT count(*) AS total FROM (SELECT 1 FROM secret_version AS v JOIN secret AS s ON s.id = v.secret_id AND s.version = v.version
				JOIN realm AS r ON r.id = s.realm_id WHERE v.expires_at < $1 AND r.deleted_at IS NULL LIMIT $2) AS ending`,
				[before, most],
			);
			return found?.total ?? 0;
		},
	};
}

/** Histories have no gaps: the oldest versions go first, and a number is never used again. */
function histories(db: Snapshot): Pick<SecretReads, "history" | "countHistory"> {
	return {
		async history(realm_id, environment, key, before, limit) {
			const [secret] = await db.verified("secret", NAMED, [realm_id, environment, key]);
			if (secret === undefined) return [];
			type Shown = Omit<VersionInfo, "version">;
			const found = await db.briefly<"secret_version", Shown>(
				"secret_version",
				"created_at, created_by, comment, expires_at",
				"secret_id = $1 AND version < $2 ORDER BY version DESC LIMIT $3",
				[secret.id, before ?? Number.MAX_SAFE_INTEGER, limit],
			);
			return found.map(({ version, created_at, created_by, comment, expires_at }, index) => {
				if (version !== (before ?? secret.version + 1) - 1 - index) throw rowAltered();
				return { version, created_at, created_by, comment, expires_at };
			});
		},
		async countHistory(realm_id, environment, key) {
			const [secret] = await db.verified("secret", NAMED, [realm_id, environment, key]);
			return secret === undefined ? 0 : db.count("secret_version", "secret_id = $1", [secret.id]);
		},
	};
}
