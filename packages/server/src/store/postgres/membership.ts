import { type LeaseClaims, OWN_CLAIMS } from "../../leases/model.ts";
import {
	BEAT_MS,
	type Duties,
	MAX_NODES,
	type Node,
	OWN_DUTIES,
	type OwnNode,
	type ReportedKeys,
	SILENT_MS,
} from "../../nodes/model.ts";
import { createSemaphore } from "../../semaphore.ts";
import { storeUnavailable } from "../errors.ts";
import type { Store } from "../store.ts";
import { createClaims, type OwnClaims } from "./claims.ts";
import type { Sql } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { createDuties } from "./duties.ts";
import { createExchange, type Known } from "./findings.ts";
import type { ReadPool } from "./read-pools.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";
import { repeat } from "./repeat.ts";

/** The nodes of a database, as one of them sees them. */
interface Membership extends Pick<Store, "join" | "nodes" | "claims" | "duties" | "reportAltered"> {
	/** Names this node where it claims leases. */
	claimant(): string | undefined;
	/** Leaves. */
	close(): Promise<void>;
}

/** Milliseconds after which a node that was not seen again, or a claim that has ended, is forgotten. */
const FORGOTTEN_MS = 24 * 60 * 60 * 1000;

const JOIN =
	"INSERT INTO node (id, master_key, next_master_key, name, version, address, started_at, seen_at) VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())";
const BEAT = "UPDATE node SET master_key = $2, next_master_key = $3, seen_at = clock_timestamp() WHERE id = $1";
const LEAVE = "DELETE FROM node WHERE id = $1";
const FORGET = [
	`DELETE FROM node WHERE seen_at < clock_timestamp() - interval '${FORGOTTEN_MS} ms'`,
	`DELETE FROM lease_claim WHERE until < clock_timestamp() - interval '${FORGOTTEN_MS} ms'`,
];

const IS_SILENT = `seen_at < clock_timestamp() - interval '${SILENT_MS} ms'`;

const LIST = `SELECT id, name, version, address, started_at, master_key, next_master_key,
	to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS seen_at,
	CASE WHEN ${IS_SILENT} THEN 'silent' ELSE 'active' END AS status
	FROM node ORDER BY epoch LIMIT ${MAX_NODES}`;

/** Condition on a row of `node`: it is of another active server than $1, and could not open keys under the master key $2. */
export const LACKS_MASTER = `id <> $1 AND NOT ${IS_SILENT} AND $2 NOT IN (master_key, next_master_key)`;

/**
 * Makes the membership of a server. Its signs of life and claims have a connection of their own: they wait for no change, no question and no disk.
 * @param pool answers who the nodes are
 * @param isShared whether others may be nodes of the same database
 * @param known alterations of the database, which nodes report to each other
 */
export function createMembership(
	links: Pick<Connections, "open">,
	pool: ReadPool,
	isShared: boolean,
	known: Known & { noticed: Promise<void> },
): Membership {
	let link: ReconnectingConnection | undefined;
	let own: OwnNode | undefined;
	let claims: OwnClaims | undefined;
	let stopBeating = async () => {};
	const turns = createSemaphore(1);
	const inTurn = async <Result>(ask: (sql: Sql) => Promise<Result>) => {
		const release = await turns.acquire();
		try {
			if (link === undefined) throw storeUnavailable();
			return await ask(link);
		} finally {
			release();
		}
	};
	const sql: Sql = {
		rows: (text, values) => inTurn((session) => session.rows(text, values)),
		run: (text, values) => inTurn((session) => session.run(text, values)),
	};
	const exchangeFindings = createExchange(sql, known);
	const exchange = async () => {
		if (isShared && own !== undefined) await exchangeFindings(own.id);
	};
	// A report that fails now is repeated with the next sign of life.
	void known.noticed.then(exchange).catch(() => undefined);
	const add = ({ id, name, version, address, started_at }: OwnNode, { master_key, next_master_key }: ReportedKeys) =>
		sql.run(JOIN, [id, master_key, next_master_key, name, version, address, started_at]);
	const take: LeaseClaims["take"] = async (lease_id) => {
		if (claims === undefined) throw storeUnavailable();
		return claims.take(lease_id);
	};
	const takeDuty: Duties["take"] = async (duty) => {
		if (own === undefined) throw storeUnavailable();
		return createDuties(sql, own.id).take(duty);
	};
	return {
		async join(node, report) {
			link = await links.open((connection) => connection.script("SET synchronous_commit = off"));
			for (const forget of FORGET) await sql.run(forget);
			await add(node, await report());
			own = node;
			claims = createClaims(inTurn, node.id);
			await exchange();
			// While the database is away, others see that this node is silent.
			stopBeating = repeat(BEAT_MS, async () => {
				const keys = await report();
				// One that was forgotten joins again.
				if ((await sql.run(BEAT, [node.id, keys.master_key, keys.next_master_key])) === 0) await add(node, keys);
				await claims?.releaseLeft();
				await exchange();
			});
		},
		nodes: () => pool.ask((session) => session.rows<Node>(LIST)),
		claims: isShared ? { isShared, take } : OWN_CLAIMS,
		duties: isShared ? { take: takeDuty } : OWN_DUTIES,
		async reportAltered(found) {
			if (!isShared) return;
			known.learn(found);
			await exchange();
		},
		claimant: () => (isShared ? own?.id : undefined),
		async close() {
			await stopBeating();
			if (own !== undefined) await sql.run(LEAVE, [own.id]).catch(() => undefined);
		},
	};
}
