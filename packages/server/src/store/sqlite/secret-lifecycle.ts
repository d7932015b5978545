import type { Database } from "better-sqlite3";
import type { DeletedSecret } from "../../secrets/model.ts";
import type { Implementations } from "../store.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

type Questions = Pick<Implementations<"scan">["secrets"], "deleted" | "countDeleted" | "countExpiring">;

const RESTORABLE = "realm_id = @realm_id AND @environment IN ('', environment) AND deleted_at > @since";

const PAGE = `SELECT id, realm_id, environment, key, version, deleted_by, deleted_at FROM ${verified("deleted_secret")}
	WHERE ${RESTORABLE} AND id > @after ORDER BY id LIMIT @limit`;

/** As the rows are: a realm may have 100,000, and to verify each would take a second. */
const COUNT = `SELECT count(*) FROM deleted_secret WHERE ${RESTORABLE}`;

/** Of all realms, as the rows are: a metric asks for their number, and an altered one must not end all metrics. */
const EXPIRING = `SELECT count(*) FROM (SELECT 1 FROM secret_version v JOIN secret s ON s.id = v.secret_id AND s.version = v.version
	JOIN realm r ON r.id = s.realm_id WHERE v.expires_at IS NOT NULL AND v.expires_at < ? AND r.deleted_at IS NULL LIMIT ?) AS ending`;

/** Questions about deleted secrets that can be restored, and about secrets that expire soon. */
export function secretLifecycle(db: Database): Questions {
	const prepare = createStatements(db);
	return {
		deleted: (realm_id, environment, since, after, limit) =>
			prepare(PAGE).all({ realm_id, environment: environment ?? "", since, after, limit }) as DeletedSecret[],
		countDeleted: (realm_id, environment, since) =>
			prepare(COUNT)
				.pluck()
				.get({ realm_id, environment: environment ?? "", since }) as number,
		countExpiring: (before, most) => prepare(EXPIRING).pluck().get(before, most) as number,
	};
}
