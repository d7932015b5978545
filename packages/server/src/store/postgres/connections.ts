import type { Address } from "./address.ts";
import { type Connection, connect } from "./connection.ts";
import { createReadPool, POOL_SIZES, type PoolName, type ReadPool } from "./read-pools.ts";
import { openReconnecting, type ReconnectingConnection } from "./reconnecting-connection.ts";
import type { DatabaseState } from "./state.ts";

/** All connections of a store to its database. */
export interface Connections {
	/** Opens one. @param prepare called with each connection before it is used */
	open(prepare?: (connection: Connection) => Promise<void>): Promise<ReconnectingConnection>;
	/** Gives up those on which the database has not answered since this moment. */
	loseSilent(since: number): void;
	close(): Promise<void>;
}

/** Creates the connections of a store. @param address reads the address for each of them: its password may have changed */
export function createConnections(address: () => Address, state: Pick<DatabaseState, "note">): Connections {
	const links: ReconnectingConnection[] = [];
	const noteState = () => state.note({ links: links.find((link) => !link.isUp())?.trouble() });
	let isClosed = false;
	return {
		async open(prepare) {
			const link = await openReconnecting(() => connectAnd(address, prepare), noteState);
			links.push(link);
			// Another one could not be opened, so that the store gave up.
			if (isClosed) await link.close();
			return link;
		},
		loseSilent(since) {
			for (const link of links) link.loseUnlessHeard(since);
		},
		async close() {
			isClosed = true;
			await Promise.all(links.map((link) => link.close()));
		},
	};
}

async function connectAnd(
	address: () => Address,
	prepare: ((connection: Connection) => Promise<void>) | undefined,
): Promise<Connection> {
	const connection = await connect(address());
	try {
		await prepare?.(connection);
		return connection;
	} catch (error) {
		await connection.close();
		throw error;
	}
}

/** Opens the read pools of a store. */
export async function openReadPools(links: Pick<Connections, "open">): Promise<Record<PoolName, ReadPool>> {
	const open = async (name: PoolName) =>
		createReadPool(
			await Promise.all(Array.from({ length: POOL_SIZES[name] }, () => links.open())),
			name === "requests",
		);
	const [requests, long, everything] = await Promise.all([open("requests"), open("long"), open("everything")]);
	return { requests, long, everything };
}
