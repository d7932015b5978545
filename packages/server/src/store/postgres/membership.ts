import { BEAT_MS, MAX_NODES, type Node, type OwnNode, SILENT_MS } from "../../nodes/model.ts";
import type { Store } from "../store.ts";
import type { Connections } from "./connections.ts";
import type { ReadPool } from "./read-pools.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";

/** The nodes of a database, as one of them sees them. */
export interface Membership extends Pick<Store, "join" | "nodes"> {
	/** Leaves. */
	close(): Promise<void>;
}

/** Milliseconds after which a node that was not seen again is forgotten. */
const FORGOTTEN_MS = 24 * 60 * 60 * 1000;

const JOIN = `INSERT INTO node (id, name, version, address, started_at, seen_at) VALUES ($1, $2, $3, $4, $5, clock_timestamp())`;
const BEAT = "UPDATE node SET seen_at = clock_timestamp() WHERE id = $1";
const LEAVE = "DELETE FROM node WHERE id = $1";
const FORGET = `DELETE FROM node WHERE seen_at < clock_timestamp() - interval '${FORGOTTEN_MS} ms'`;

const LIST = `SELECT id, name, version, address, started_at,
	to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS seen_at,
	CASE WHEN seen_at < clock_timestamp() - interval '${SILENT_MS} ms' THEN 'silent' ELSE 'active' END AS status
	FROM node ORDER BY epoch LIMIT ${MAX_NODES}`;

/**
 * Makes the membership of a server. Its signs of life have a connection of their own, behind no change and no question, and wait for no disk.
 * @param pool answers who the nodes are
 */
export function createMembership(connections: Pick<Connections, "open">, pool: ReadPool): Membership {
	let connection: ReconnectingConnection | undefined;
	let own: OwnNode | undefined;
	let timer: NodeJS.Timeout | undefined;
	let beating: Promise<void> | undefined;
	const add = async ({ id, name, version, address, started_at }: OwnNode) => {
		await connection?.run(JOIN, [id, name, version, address, started_at]);
	};
	/** Says that the node lives; one that was forgotten joins again. */
	const beat = async () => {
		if (connection === undefined || own === undefined) return;
		if ((await connection.run(BEAT, [own.id])) === 0) await add(own);
	};
	return {
		async join(node) {
			connection = await connections.open((opened) => opened.script("SET synchronous_commit = off"));
			own = node;
			await connection.run(FORGET);
			await add(node);
			timer = setInterval(() => {
				// While the database is away, the others see that this node is silent.
				beating ??= beat()
					.catch(() => undefined)
					.finally(() => {
						beating = undefined;
					});
			}, BEAT_MS);
			timer.unref();
		},
		nodes: () => pool.ask((sql) => sql.rows<Node>(LIST)),
		async close() {
			clearInterval(timer);
			await beating;
			if (own !== undefined) await connection?.run(LEAVE, [own.id]).catch(() => undefined);
		},
	};
}
