import type { Database } from "better-sqlite3";
import { VERSION_BYTES } from "../../secrets/model.ts";
import { partialSums, type Summands } from "./partial-sums.ts";

/** Every row of a table of versions, but not its value: its length comes before it. No index may hide one. */
const versionsOf = (table: string, secrets: string, id: string): Summands => ({
	by: ["realm_id"],
	rows: `SELECT v.rowid AS at, s.realm_id, length(v.value) + ${VERSION_BYTES} AS amount
		FROM main.${table} AS v NOT INDEXED CROSS JOIN main.${secrets} AS s ON s.id = v.${id} WHERE v.rowid >= @from`,
});

const VERSIONS = [
	versionsOf("secret_version", "secret", "secret_id"),
	versionsOf("deleted_version", "deleted_secret", "deletion_id"),
];

const SECRETS: Summands = {
	by: ["realm_id"],
	rows: "SELECT id AS at, realm_id, 1 AS amount FROM main.secret NOT INDEXED WHERE id >= @from",
};

/** Size of a realm by its rows. */
interface Size {
	bytes: bigint;
	keys: bigint;
}

/** Tells whether each live realm holds as many bytes and keys as its row says. It reads every version, without the values. */
export function areRealmsCounted(db: Database): boolean {
	const sizeOf = sizes(db);
	const kept = db.prepare("SELECT id, bytes, keys FROM main.realm WHERE deleted_at IS NULL").safeIntegers();
	for (const { id, bytes, keys } of kept.iterate() as IterableIterator<Size & { id: string }>) {
		const found = sizeOf(id);
		if (bytes !== found.bytes || keys !== found.keys) return false;
	}
	return true;
}

/** Counts what all realms hold again. */
export function countRealms(db: Database): void {
	const sizeOf = sizes(db);
	const set = db.prepare("UPDATE main.realm SET bytes = @bytes, keys = @keys WHERE id = @id");
	for (const id of db.prepare("SELECT id FROM main.realm").pluck().all() as string[]) set.run({ id, ...sizeOf(id) });
}

/** Counts what each realm holds. @returns the size by a realm's id */
function sizes(db: Database): (id: string) => Size {
	const held = new Map<unknown, Size>();
	const sizeOf = (id: unknown) => held.get(id) ?? { bytes: 0n, keys: 0n };
	const add = (summands: Summands, part: keyof Size) => {
		for (const { realm_id, amount } of partialSums(db, summands)) {
			const size = sizeOf(realm_id);
			held.set(realm_id, { ...size, [part]: size[part] + amount });
		}
	};
	for (const versions of VERSIONS) add(versions, "bytes");
	add(SECRETS, "keys");
	return sizeOf;
}
