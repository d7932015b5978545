import type { Snapshot } from "../database.ts";

/** A version without its value. */
export interface BriefVersion {
	version: number;
	bytes: number;
	expires_at: string | null;
	created_at: string;
}

/** Reads the current versions of secrets, by their numbers. */
export async function briefVersions(
	db: Snapshot,
	secrets: readonly { id: number; version: number }[],
): Promise<Map<number, BriefVersion>> {
	const found = await db.briefly<"secret_version", { bytes: number; created_at: string }>(
		"secret_version",
		"length(value) AS bytes, created_at",
		"(secret_id, version) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))",
		[secrets.map(({ id }) => id), secrets.map(({ version }) => version)],
	);
	return new Map(found.map((row) => [row.secret_id, row]));
}
