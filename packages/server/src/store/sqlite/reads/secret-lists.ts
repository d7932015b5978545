import type { Database } from "better-sqlite3";
import type { SecretVersion } from "../../../secrets/model.ts";
import type { Implementations } from "../../store.ts";
import { believed } from "../row-guard.ts";
import { createStatements } from "../statements.ts";

type Reads = Implementations<"read">["secrets"];

/** A version as SQLite has it, and its place among the references. */
type Stored = Omit<SecretVersion, "pre_encrypted"> & { pre_encrypted: number; at: number };

/** One statement for all: one for each version costs twice as much. A value opens under its own name alone: the name needs no MAC here. */
const VERSIONS = `SELECT json_each.key AS at, v.id, v.version, v.value, v.pre_encrypted, v.comment, v.expires_at, v.created_by, v.created_at,
	s.realm_id, s.environment, s.key
	FROM json_each(?) CROSS JOIN secret s ON s.id = json_each.value ->> 0
	CROSS JOIN ${believed("secret_version")} v ON v.secret_id = s.id AND v.version = json_each.value ->> 1`;

/** Questions about many secrets at once. */
export function secretListReads(db: Database): Pick<Reads, "versionsAt"> {
	const prepare = createStatements(db);
	return {
		versionsAt(wanted) {
			const found: (SecretVersion | undefined)[] = wanted.map(() => undefined);
			const names = JSON.stringify(wanted.map(({ secret_id, version }) => [secret_id, version]));
			for (const { at, pre_encrypted, ...row } of prepare(VERSIONS).all(names) as Stored[])
				found[at] = { ...row, pre_encrypted: pre_encrypted === 1 };
			return found;
		},
	};
}
