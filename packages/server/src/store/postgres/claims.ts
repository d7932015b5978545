import type { LeaseClaim, LeaseClaims } from "../../leases/model.ts";
import { system } from "../../system.ts";
import type { Sql } from "./connection.ts";
import { harmless } from "./failure.ts";

/** Milliseconds for which a claim lasts: longer than an engine and its target take. */
const CLAIM_MS = 120_000;

/** Milliseconds of it in which its server begins to act: the rest is for the act itself. */
const ACTING_MS = 0.6 * CLAIM_MS;

/** Tells whether a claim lasts now. One that lasts longer than any was not made by a server. */
const LASTS = `lease_claim.until > clock_timestamp() AND lease_claim.until <= clock_timestamp() + interval '${CLAIM_MS} ms'`;

/** Condition on a row of `lease`: no server is revoking its credential. */
export const IS_UNCLAIMED = `NOT EXISTS (SELECT FROM lease_claim WHERE lease_id = lease.id AND ${LASTS})`;

const TAKE = `INSERT INTO lease_claim (lease_id, node_id, until) VALUES ($1, $2, clock_timestamp() + interval '${CLAIM_MS} ms')
	ON CONFLICT (lease_id) DO UPDATE SET node_id = excluded.node_id, until = excluded.until
	WHERE NOT (${LASTS})`;
const RELEASE = "DELETE FROM lease_claim WHERE lease_id = $1 AND node_id = $2";
const RELEASE_LEFT = "DELETE FROM lease_claim WHERE node_id = $1 AND lease_id <> ALL($2::text[])";
const HELD = `SELECT FROM lease_claim WHERE lease_id = $1 AND node_id = $2 AND ${LASTS}`;

/** Tells whether a node has a claim of a lease, in the state that the transaction reads. */
export async function hasClaim(sql: Sql, lease_id: string, node_id: string): Promise<boolean> {
	return (await sql.rows(HELD, [lease_id, node_id])).length > 0;
}

/** Asks the database, one question at a time. */
export type InTurn = <Result>(ask: (sql: Pick<Sql, "run">) => Promise<Result>) => Promise<Result>;

/** Claims of a node. */
export interface OwnClaims extends Pick<LeaseClaims, "take"> {
	/** Releases claims by which nothing here acts: the answer to a statement was lost, or a crash of the database took a release back. */
	releaseLeft(): Promise<void>;
}

/** Makes the claims of a node, in transactions of their own. */
export function createClaims(inTurn: InTurn, node_id: string): OwnClaims {
	/** Leases that something here acts upon, or is about to. */
	const held = new Set<string>();
	const take = (lease_id: string) =>
		inTurn(async (sql) => {
			const isHeld = held.has(lease_id);
			held.add(lease_id);
			let isTaken = false;
			try {
				isTaken = (await sql.run(TAKE, [lease_id, node_id])) > 0;
			} finally {
				if (!isTaken && !isHeld) held.delete(lease_id);
			}
			return isTaken;
		}).catch((error: unknown) => {
			throw harmless(error);
		});
	const release = (lease_id: string) =>
		inTurn((sql) => {
			held.delete(lease_id);
			return sql.run(RELEASE, [lease_id, node_id]);
		});
	const claimOf = (lease_id: string): LeaseClaim => {
		// The time before the answer counts, too.
		const [at_ms, uptime_ms] = [system.now().getTime(), system.uptimeMs()];
		return {
			isLive: () => system.uptimeMs() - uptime_ms < ACTING_MS && system.now().getTime() - at_ms < ACTING_MS,
			// One that stays is released later, or ends by itself.
			release: () => release(lease_id).then(noResult, noResult),
		};
	};
	return {
		async take(lease_id) {
			const claim = claimOf(lease_id);
			return (await take(lease_id)) ? claim : undefined;
		},
		async releaseLeft() {
			await inTurn((sql) => sql.run(RELEASE_LEFT, [node_id, [...held]]));
		},
	};
}

const noResult = () => undefined;
