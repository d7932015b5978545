import type { DeletedRealm, Restorable } from "../../../realms/model.ts";
import { UNENDED } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import type { StoredRows } from "../stored-rows.ts";
import { shown } from "./realm-rows.ts";

type Reads = Async<
	Pick<Implementations<"read">["realms"], "findDeleted" | "deletedBefore"> &
		Pick<Implementations<"scan">["realms"], "deleted" | "countDeleted" | "unended">
>;

/** Condition on a deleted realm that can be restored. */
const RESTORABLE = "deleted_at > $1 AND ($2::text IS NULL OR user_id = $2)";

const of = ({ since, user_id }: Restorable) => [since, user_id];

/** Answers questions about deleted realms. */
export function deletedRealmReads(db: Snapshot): Reads {
	return {
		async deletedBefore(instant, limit) {
			const due = await db.verified("realm", "deleted_at < $1 LIMIT $2", [instant, limit]);
			return due.map(({ id, slug }) => ({ id, slug }));
		},
		async findDeleted({ slug, id, ...which }) {
			const [newest] = await db.verified(
				"realm",
				`${RESTORABLE} AND slug = $3 AND ($4::text IS NULL OR id = $4) ORDER BY deleted_at DESC, id DESC LIMIT 1`,
				[...of(which), slug, id],
			);
			return newest && deletedOf(newest);
		},
		async deleted(which, after, limit) {
			const condition = `${RESTORABLE} AND id > $3 ORDER BY id LIMIT $4`;
			return (await db.verified("realm", condition, [...of(which), after, limit])).map(deletedOf);
		},
		async unended() {
			const found = await db.sql.rows<{ id: string }>(UNENDED);
			return found.map(({ id }) => id);
		},
		countDeleted: (which) => db.count("realm", RESTORABLE, of(which)),
	};
}

function deletedOf(realm: StoredRows["realm"]): DeletedRealm {
	return { ...shown(realm), deleted_by: realm.deleted_by ?? "", deleted_at: realm.deleted_at ?? "" };
}
