import type { Address } from "./address.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import { reachDatabase } from "./hosts.ts";
import { createReadPool, POOL_SIZES, type PoolName, type ReadPool } from "./read-pools.ts";
import { openReconnecting, type ReconnectingConnection } from "./reconnecting-connection.ts";
import type { DatabaseState } from "./state.ts";

/** All connections of a store to its database. */
export interface Connections {
	/** Opens one. @param prepare called with each connection before it is used */
	open(prepare?: (connection: Connection) => Promise<void>): Promise<ReconnectingConnection>;
	/** Returns the address of the newest connection. */
	address(): Address;
	/** Closes those on which the database has not answered since this moment. */
	loseSilent(since: number): void;
	close(): Promise<void>;
}

/**
 * Creates the connections of a store.
 * @param addresses reads those of the database's hosts for each new connection: the primary is looked for, and the password may have changed
 */
export function createConnections(
	addresses: () => readonly Address[],
	history: Pick<History, "check">,
	state: Pick<DatabaseState, "note">,
): Connections {
	const links: ReconnectingConnection[] = [];
	const primary = findPrimary(addresses, history);
	const noteState = () => state.note({ links: links.find((link) => !link.isUp())?.trouble() });
	let isClosed = false;
	return {
		async open(prepare) {
			const link = await openReconnecting(() => primary.reach(prepare), noteState);
			links.push(link);
			// Another one could not be opened, so that the store gave up.
			if (isClosed) await link.close();
			return link;
		},
		address: primary.address,
		loseSilent(since) {
			for (const link of links) link.loseUnlessHeard(since);
		},
		async close() {
			isClosed = true;
			await Promise.all(links.map((link) => link.close()));
		},
	};
}

/** Finds the primary among several hosts, beginning with the last one that was it. */
function findPrimary(addresses: () => readonly Address[], history: Pick<History, "check">) {
	let newest: Address | undefined;
	/** Orders the hosts, the last one that was the primary first. */
	const inOrder = () => {
		const isNewest = ({ host, port }: Address) => host === newest?.host && port === newest.port;
		return addresses().toSorted((one, other) => Number(isNewest(other)) - Number(isNewest(one)));
	};
	/** Timelines of the connections that are open. */
	const open = new Map<Connection, number>();
	/** Closes connections to a primary from before a failover: it may still answer. */
	const closeOlder = (timeline: number) => {
		for (const [connection, other] of open) if (other < timeline) void connection.close();
	};
	return {
		address: () => inOrder()[0] as Address,
		async reach(prepare?: (connection: Connection) => Promise<void>): Promise<Connection> {
			let timeline: number | undefined;
			const { connection, address } = await reachDatabase(inOrder(), async (reached) => {
				timeline = await history.check(reached);
				await prepare?.(reached);
			});
			newest = address;
			if (timeline === undefined) return connection;
			open.set(connection, timeline);
			void connection.ended.then(() => open.delete(connection));
			closeOlder(timeline);
			return connection;
		},
	};
}

/** Plans each long question for its values: those that are rare in the log need another way than the others. */
const planForValues = (connection: Connection) => connection.script("SET plan_cache_mode = force_custom_plan");

/** Opens the read pools of a store. */
export async function openReadPools(links: Pick<Connections, "open">): Promise<Record<PoolName, ReadPool>> {
	const open = async (name: PoolName) => {
		const isShort = name === "requests";
		const prepare = isShort ? undefined : planForValues;
		const opened = await Promise.all(Array.from({ length: POOL_SIZES[name] }, () => links.open(prepare)));
		return createReadPool(opened, isShort);
	};
	const [requests, long, everything] = await Promise.all([open("requests"), open("long"), open("everything")]);
	return { requests, long, everything };
}
