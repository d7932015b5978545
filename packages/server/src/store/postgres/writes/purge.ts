import { VERSION_BYTES } from "../../../secrets/model.ts";
import { endedWithRealm } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";

/** Limits on what one transaction removes of a purged realm: all other changes wait behind it. */
const MOST_SECRETS = 2000;
const MOST_BYTES = 2 * 1024 * 1024;

/** Time of deletion of a realm whose purge has begun, before any other, so that nobody restores a part of it. */
const PURGING = "";

/** Makes the operations that remove a deleted realm's rows, a part at a time. */
export function purgeWrites(db: Change): Pick<Async<Implementations<"write">["realms"]>, "empty" | "endRestricted"> {
	return {
		async empty({ id, deleted_before }) {
			const [purgeable] = await db.stored("realm", "id = $1 AND deleted_at < $2", [id, deleted_before]);
			if (purgeable === undefined) return 0;
			if (purgeable.deleted_at !== PURGING) await db.update("realm", { deleted_at: PURGING }, "id = $1", [id]);
			return (await endSecrets(db, id)) || (await endDeleted(db, id)) || (await endRestricted(db, id));
		},
		endRestricted: async (id) =>
			(await db.has("realm", "id = $1 AND deleted_at IS NOT NULL", [id])) ? endRestricted(db, id) : 0,
	};
}

/** Ends a part of what ends with a realm's deletion. @returns how many rows */
export async function endRestricted(db: Change, realm_id: string): Promise<number> {
	for (const { table, of, most } of endedWithRealm("$1")) {
		const some = `id IN (SELECT id FROM ${table} WHERE ${of} LIMIT ${most})`;
		const ended = await db.remove(table, some, [realm_id]);
		if (ended > 0) return ended;
	}
	return 0;
}

async function endSecrets(db: Change, realm_id: string): Promise<number> {
	const some = await portion(db, realm_id, "secret", "secret_version WHERE secret_id");
	await db.remove("secret_version", "secret_id = ANY($1::bigint[])", [some]);
	return db.remove("secret", "id = ANY($1::bigint[])", [some]);
}

async function endDeleted(db: Change, realm_id: string): Promise<number> {
	const some = await portion(db, realm_id, "deleted_secret", "deleted_version WHERE deletion_id");
	await db.remove("deleted_version", "deletion_id = ANY($1::text[])", [some]);
	return db.remove("deleted_secret", "id = ANY($1::text[])", [some]);
}

/** Chooses secrets of a realm, by the length of their versions. */
async function portion(
	db: Change,
	realm_id: string,
	table: "secret" | "deleted_secret",
	versions: string,
): Promise<(number | string)[]> {
	const found = await db.sql.rows<{ id: number | string; bytes: number }>(
		`SELECT id, (SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0)::bigint FROM ${versions} = ${table}.id) AS bytes
		FROM ${table} WHERE realm_id = $1 LIMIT ${MOST_SECRETS}`,
		[realm_id],
	);
	let before = 0;
	return found
		.filter(({ bytes }) => {
			const isChosen = before < MOST_BYTES;
			before += bytes;
			return isChosen;
		})
		.map(({ id }) => id);
}
