import { type DeletedSecret, VERSION_BYTES } from "../../../secrets/model.ts";
import { rowAltered } from "../../errors.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import type { StoredRows } from "../stored-rows.ts";
import { countIn, headOf, nextHead } from "./secret-rows.ts";

type Removing = Pick<Async<Implementations<"write">["secrets"]>, "remove" | "restore" | "purge" | "purgeDeleted">;

/** Limits on what one transaction removes: all other changes wait behind it. */
const MOST_SECRETS = 100;
const MOST_BYTES = 2 * 1024 * 1024;

/** Makes the operations that delete secrets, and bring them back. */
export function removing(db: Change): Removing {
	return {
		async remove(input, event) {
			const found = await headOf(db, input);
			if (found === undefined || found.deleted_at !== null) return false;
			const { version, created_at } = found;
			await db.insert("deleted_secret", { ...input, version, created_at });
			for (const { secret_id: _, ...row } of await db.verified("secret_version", "secret_id = $1", [found.id]))
				await db.insert("deleted_version", { deletion_id: input.id, ...row });
			await endLife(db, found.id, input.deleted_at);
			db.append(event, { version, deletion_id: input.id });
			return true;
		},
		async purge(input, event) {
			const { realm_id, environment, key, by } = input;
			const found = input.only_deleted ? undefined : await headOf(db, input);
			const lives = found !== undefined && found.deleted_at === null;
			if (lives) {
				await countIn(db, { realm_id, bytes: -(await heldBy(db, found.id)), keys: 0 });
				await endLife(db, found.id, by);
			}
			const isOfKey = "d.realm_id = $1 AND d.environment = $2 AND d.key = $3 AND d.deleted_at <= $4 ORDER BY d.id";
			const removed = (await purgeSome(db, isOfKey, [realm_id, environment, key, by])).length + Number(lives);
			if (removed > 0) db.append(event, { secrets: removed });
			return removed;
		},
		async purgeDeleted(by, event) {
			const removed = await purgeSome(db, "d.deleted_at <= $1 ORDER BY d.deleted_at", [by]);
			for (const { id, realm_id, realm, environment, key, version } of removed)
				db.append({ ...event, realm_id, realm }, { key, environment, deletion_id: id, version });
			return removed.length;
		},
		restore: (input, event) => restore(db, input, event),
	};
}

/** Removes a secret's versions. Its row stays, for the number of the next one. */
async function endLife(db: Change, secret_id: number, deleted_at: string): Promise<void> {
	await db.remove("secret_version", "secret_id = $1", [secret_id]);
	await db.update("secret", { deleted_at }, "id = $1", [secret_id]);
}

/** Counts the bytes of a secret's versions. */
async function heldBy(db: Change, secret_id: number): Promise<number> {
	const [held] = await db.sql.rows<{ bytes: number }>(
		`SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0)::bigint AS bytes FROM secret_version WHERE secret_id = $1`,
		[secret_id],
	);
	return held?.bytes ?? 0;
}

async function restore(
	db: Change,
	...[{ id, since, ...name }, event]: Parameters<Removing["restore"]>
): ReturnType<Removing["restore"]> {
	const found = await headOf(db, name);
	if (found !== undefined && found.deleted_at === null) return "lives";
	const { realm_id, environment, key } = name;
	const [life] = await db.verified(
		"deleted_secret",
		`realm_id = $1 AND environment = $2 AND key = $3 AND deleted_at > $4 AND ($5::text IS NULL OR id = $5)
		ORDER BY id DESC LIMIT 1`,
		[realm_id, environment, key, since, id],
	);
	if (found === undefined || life === undefined) return "not_found";
	const rows = await versionsOf(db, life);
	const version = found.version + rows.length;
	const { created_at } = life;
	const { id: secret_id } = await nextHead(db, { ...name, created_at }, found, version);
	for (const { deletion_id: _, ...row } of rows)
		await db.insert("secret_version", { ...row, secret_id, version: row.version + version - life.version });
	await db.remove("deleted_version", "deletion_id = $1", [life.id]);
	await db.remove("deleted_secret", "id = $1", [life.id]);
	db.append(event, { version, deletion_id: life.id, versions: rows.length });
	return { version, created_at, updated_at: rows.at(-1)?.created_at ?? "" };
}

/** Reads the versions of a deleted secret. @throws AppError when another program took some of them away */
async function versionsOf(
	db: Change,
	{ id, version }: Pick<StoredRows["deleted_secret"], "id" | "version">,
): Promise<StoredRows["deleted_version"][]> {
	const rows = await db.verified("deleted_version", "deletion_id = $1 ORDER BY version", [id]);
	const oldest = rows[0]?.version ?? 0;
	if (rows.at(-1)?.version !== version || rows.length !== version - oldest + 1) throw rowAltered();
	return rows;
}

/** A deleted secret to remove permanently. */
interface Purgeable extends Pick<DeletedSecret, "id" | "realm_id" | "environment" | "key" | "version"> {
	/** Slug. */
	realm: string;
	/** Bytes that it counts in its realm. */
	bytes: number;
}

/** Permanently removes the first of those that meet a condition, as many as a transaction may. */
async function purgeSome(db: Change, condition: string, values: readonly unknown[]): Promise<Purgeable[]> {
	const found = await db.sql.rows<Purgeable>(
		`SELECT d.id, d.realm_id, d.environment, d.key, d.version, r.slug AS realm,
		(SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0)::bigint FROM deleted_version WHERE deletion_id = d.id) AS bytes
		FROM deleted_secret AS d JOIN realm AS r ON r.id = d.realm_id WHERE ${condition} LIMIT ${MOST_SECRETS}`,
		values,
	);
	const chosen: Purgeable[] = [];
	let bytes = 0;
	for (const one of found) {
		if (bytes >= MOST_BYTES) break;
		chosen.push(one);
		bytes += one.bytes;
	}
	for (const { id, realm_id, bytes } of chosen) {
		await db.remove("deleted_version", "deletion_id = $1", [id]);
		await db.remove("deleted_secret", "id = $1", [id]);
		await countIn(db, { realm_id, bytes: -bytes, keys: 0 });
	}
	return chosen;
}
