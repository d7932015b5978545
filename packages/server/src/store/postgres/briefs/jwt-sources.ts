import { sourceGroup } from "../../../source.ts";
import { MAX_JWT_SOURCES, MAX_SEEN_JWTS } from "../../../trusts/model.ts";
import type { Briefs } from "../../store.ts";
import type { Sql } from "../connection.ts";
import type { Async } from "../database.ts";

/** New JWTs between two removals of old ones. */
const REMOVED_EVERY = 256;

const ADD = `INSERT INTO jwt_source (digest, payer, first_ip, sources, used_at) VALUES ($1, $2, $3, ARRAY[$4], clock_timestamp())
	ON CONFLICT (digest) DO NOTHING`;
const ADD_SOURCE = `UPDATE jwt_source SET sources = sources || $3::text, payer = $2, used_at = clock_timestamp()
	WHERE digest = $1 AND $3 <> ALL(sources) AND cardinality(sources) < ${MAX_JWT_SOURCES} RETURNING first_ip`;
const USE = "UPDATE jwt_source SET payer = $2, used_at = clock_timestamp() WHERE digest = $1";
const FORGET = "UPDATE jwt_source SET sources = array_remove(sources, $2) WHERE digest = $1";

/** Removes the oldest of the payers that have the most, until there are no more than are remembered. */
const REMOVE = `DELETE FROM jwt_source WHERE digest IN (SELECT digest FROM
	(SELECT digest, used_at, row_number() OVER (PARTITION BY payer ORDER BY used_at DESC) AS place FROM jwt_source) AS ranked
	ORDER BY place, used_at DESC OFFSET ${MAX_SEEN_JWTS})`;

/** Records in rows from which sources reusable JWTs came. @param sql runs one statement at a time */
export function createJwtSources(sql: Sql): Async<Briefs["trusts"]> {
	let added = 0;

	async function removeOld(): Promise<void> {
		if (++added < REMOVED_EVERY) return;
		added = 0;
		await sql.run(REMOVE);
	}

	return {
		async noteSource({ digest, payer, ip }) {
			const source = sourceGroup(ip);
			if ((await sql.run(ADD, [digest, payer, ip, source])) > 0) {
				await removeOld();
				return undefined;
			}
			const [known] = await sql.rows<{ first_ip: string }>(ADD_SOURCE, [digest, payer, source]);
			if (known === undefined) await sql.run(USE, [digest, payer]);
			return known?.first_ip;
		},
		forgetSource: async (digest, ip) => void (await sql.run(FORGET, [digest, sourceGroup(ip)])),
	};
}
