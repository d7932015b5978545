import type { Database } from "better-sqlite3";
import type { ListedVersion } from "../../secrets/model.ts";
import { rowAltered } from "../errors.ts";
import { secretListReads } from "./reads/secret-lists.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

/** Rows verified here for each one that a page may show, those of other environments included: 400 take 2 ms, but 10 to 25 ms the first time after a start. */
const JUDGED_FOR_ONE = 4;

/** Rows of a page of all environments verified here. The console's pages may have more, the API's have not. */
const MAX_HERE = 400;

/** Rows remembered of pages of all environments: four of the console's largest, some 5 MB. */
const MAX_KNOWN = 8192;

const NEAR = `SELECT count(*) AS seen, total(environment = @environment) AS found FROM
	(SELECT environment FROM secret WHERE realm_id = @realm_id AND deleted_at IS NULL AND id > @after ORDER BY id LIMIT @most) AS near`;

/** The view verifies each row before the environment is looked at: one that another program moved is refused, too. */
const PAGE = `SELECT s.id AS secret_id, s.environment, s.key, v.version, length(v.value) AS bytes, v.expires_at, v.created_at, CAST(s.id AS TEXT) AS position
	FROM ${verified("secret")} s LEFT JOIN ${verified("secret_version")} v ON v.secret_id = s.id AND v.version = s.version
	WHERE s.realm_id = @realm_id AND s.deleted_at IS NULL AND s.id > @after AND @environment IN ('', s.environment) ORDER BY s.id LIMIT @limit`;

type Found = ListedVersion | { version: null };

const isThere = (row: Found): row is ListedVersion => row.version !== null;

/** Pages of a realm whose secrets of one environment lie far apart: to find them, all between are verified. */
export function secretPages(db: Database) {
	const prepare = createStatements(db);
	const known = secretListReads(db, MAX_KNOWN);
	return {
		/** Tells whether a page verifies so few rows that the thread which answers requests may read it. */
		isNear(...[realm_id, environment = "", after, limit]: [string, string | undefined, string, number]): boolean {
			if (environment === "" && limit <= MAX_HERE) return true;
			const most = environment === "" ? MAX_HERE + 1 : JUDGED_FOR_ONE * limit;
			const { seen, found } = prepare(NEAR).get({ realm_id, environment, after: Number(after), most }) as {
				seen: number;
				found: number;
			};
			return seen < most || found >= limit;
		},
		/** Reads any page. */
		list(realm_id: string, environment: string | undefined, after: string, limit: number): ListedVersion[] {
			// All rows are shown: what was verified before is only compared. Of others, those between would fill the memory.
			if (environment === undefined) return known.list(realm_id, environment, after, limit);
			const rows = prepare(PAGE).all({ realm_id, environment, after: Number(after), limit }) as Found[];
			// A secret without its current version: somebody took that away.
			if (!rows.every(isThere)) throw rowAltered();
			return rows;
		},
	};
}
