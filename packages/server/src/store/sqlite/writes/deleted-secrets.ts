import type { Database } from "better-sqlite3";
import { type DeletedSecret, VERSION_BYTES } from "../../../secrets/model.ts";
import { rowAltered } from "../../errors.ts";
import { columnsOf } from "../../row-kinds.ts";
import { verified } from "../row-guard.ts";

/** Columns of a version that come along, whether it lives or not. */
const KEPT = columnsOf("deleted_version")
	.filter((column) => column !== "deletion_id" && column !== "version")
	.join(", ");

/** Limits on what one transaction removes: all other writes wait behind it. */
const MOST_SECRETS = 100;
const MOST_BYTES = 2 * 1024 * 1024;

/** A deleted secret to remove permanently. */
interface Purgeable extends Pick<DeletedSecret, "id" | "realm_id" | "environment" | "key" | "version"> {
	/** Slug. */
	realm: string;
	/** Bytes that it counts in its realm. */
	bytes: number;
}

type Life = Pick<DeletedSecret, "id" | "version"> & { created_at: string };
type Where = Pick<DeletedSecret, "realm_id" | "environment" | "key"> & { id: string | undefined; since: string };

/** Makes the functions that put a secret's versions aside, and bring them back, inside the transaction. */
export function deletedSecrets(db: Database) {
	const add = db.prepare(
		"INSERT INTO deleted_secret (id, realm_id, environment, key, version, created_at, deleted_by, deleted_at) " +
			"VALUES (@id, @realm_id, @environment, @key, @version, @created_at, @deleted_by, @deleted_at)",
	);
	const putAside = db.prepare(
		`INSERT INTO deleted_version (deletion_id, version, ${KEPT}) SELECT @id, version, ${KEPT} FROM ${verified("secret_version")} WHERE secret_id = @secret_id`,
	);
	const newest = db.prepare(
		`SELECT id, version, created_at FROM ${verified("deleted_secret")} WHERE realm_id = @realm_id AND environment = @environment AND key = @key ` +
			"AND deleted_at > @since AND (@id IS NULL OR id = @id) ORDER BY id DESC LIMIT 1",
	);
	const measure = db.prepare(
		"SELECT count(*) AS total, min(version) AS oldest, max(version) AS newest FROM deleted_version WHERE deletion_id = ?",
	);
	const bringBack = db.prepare(
		`INSERT INTO secret_version (secret_id, version, ${KEPT}) SELECT @secret_id, version + @by, ${KEPT} FROM ${verified("deleted_version")} WHERE deletion_id = @id ORDER BY version`,
	);
	const remove = db.prepare("DELETE FROM deleted_secret WHERE id = ?");
	return {
		/** Copies a living secret's versions; the caller removes them there. */
		putAside(secret_id: number, life: DeletedSecret & { created_at: string }): void {
			add.run(life);
			putAside.run({ id: life.id, secret_id });
		},
		find: ({ id = null, ...where }: { id?: string | null | undefined } & Omit<Where, "id">) =>
			newest.get({ ...where, id }) as Life | undefined,
		/** Counts the versions of a deleted secret. @throws AppError when another program took some of them away */
		countOf({ id, version }: Life): number {
			const { total, oldest, newest } = measure.get(id) as { total: number; oldest: number; newest: number };
			if (newest !== version || total !== newest - oldest + 1) throw rowAltered();
			return total;
		},
		/** Moves the versions into a living secret, their numbers raised. */
		bringBack({ id }: Life, secret_id: number, by: number): void {
			bringBack.run({ id, secret_id, by });
			remove.run(id);
		},
	};
}

/** Makes the functions that permanently remove what was deleted, inside the transaction. */
export function purgeableSecrets(db: Database) {
	const uncount = db.prepare("UPDATE realm SET bytes = bytes - @bytes WHERE id = @realm_id");
	const remove = db.prepare("DELETE FROM deleted_secret WHERE id = ?");
	const purgeable = (where: string) =>
		db.prepare(
			"SELECT d.id, d.realm_id, d.environment, d.key, d.version, r.slug AS realm, " +
				`(SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0) FROM deleted_version WHERE deletion_id = d.id) AS bytes ` +
				`FROM deleted_secret AS d JOIN realm AS r ON r.id = d.realm_id WHERE ${where} LIMIT ${MOST_SECRETS}`,
		);
	const ofKey = purgeable(
		"d.realm_id = @realm_id AND d.environment = @environment AND d.key = @key AND d.deleted_at <= @by ORDER BY d.id",
	);
	const ofTime = purgeable("d.deleted_at <= ? ORDER BY d.deleted_at");
	return {
		/** Finds those of a key, a few at a time. */
		ofKey: (where: object) => ofKey.iterate(where) as IterableIterator<Purgeable>,
		/** Finds those deleted by an instant, a few at a time. */
		ofTime: (by: string) => ofTime.iterate(by) as IterableIterator<Purgeable>,
		/** Permanently removes the first of them, as many as a transaction may. */
		purge(found: Iterable<Purgeable>): Purgeable[] {
			const chosen: Purgeable[] = [];
			let bytes = 0;
			for (const one of found) {
				chosen.push(one);
				bytes += one.bytes;
				if (bytes >= MOST_BYTES) break;
			}
			for (const one of chosen) {
				remove.run(one.id);
				uncount.run(one);
			}
			return chosen;
		},
	};
}
