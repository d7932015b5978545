import { hash } from "node:crypto";
import { MAX_CODE_MS, MAX_CODES } from "../../../sso/model.ts";
import type { Briefs } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { useOnce } from "../writes/sso-once.ts";

const KEEP =
	"INSERT INTO sso_code (digest, sealed, until_ms) VALUES ($1, $2, $3) ON CONFLICT (digest) DO UPDATE SET sealed = excluded.sealed, until_ms = excluded.until_ms";
const FORGET = `DELETE FROM sso_code WHERE until_ms <= $1
	OR digest IN (SELECT digest FROM sso_code ORDER BY until_ms DESC, digest OFFSET ${MAX_CODES - 1})`;

/**
 * Makes the changes of finished logins. What a row grants is in its box, which opens under its own code alone. A row that is put back after it was taken
 * grants nothing: the box is marked as used, and the mark has a MAC.
 */
export function codeChanges({ sql, ...db }: Change): Async<Briefs["sso"]> {
	return {
		async keepCode({ digest, sealed, until_ms }, now_ms) {
			await sql.run(FORGET, [now_ms]);
			await sql.run(KEEP, [digest, sealed, until_ms]);
		},
		async takeCode(digest, now_ms) {
			const [taken] = await sql.rows<{ sealed: Buffer; until_ms: number }>(
				"DELETE FROM sso_code WHERE digest = $1 RETURNING sealed, until_ms",
				[digest],
			);
			if (taken === undefined || taken.until_ms <= now_ms) return undefined;
			const mark = {
				digest: hash("sha256", Buffer.concat([Buffer.from("box "), taken.sealed]), "buffer"),
				until: new Date(now_ms + MAX_CODE_MS).toISOString(),
			};
			return (await useOnce({ sql, ...db }, mark)) ? taken.sealed : undefined;
		},
	};
}
