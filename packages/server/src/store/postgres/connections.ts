import type { Unsuitability } from "../../health/model.ts";
import { system } from "../../system.ts";
import type { StoreState } from "../store.ts";
import { UnsuitableDatabase } from "../unsuitable.ts";
import type { Address } from "./address.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import { reachDatabase } from "./hosts.ts";
import { createReadPool, POOL_SIZES, type PoolName, type ReadPool } from "./read-pools.ts";
import { openReconnecting, type ReconnectingConnection } from "./reconnecting-connection.ts";

/** All connections of a store to its database. */
export interface Connections {
	/** Opens one. @param prepare called with each connection before it is used */
	open(prepare?: (connection: Connection) => Promise<void>): Promise<ReconnectingConnection>;
	/** Returns the address of the newest connection. */
	address(): Address;
	/** `away` while one of them has no connection. */
	state(): StoreState;
	close(): Promise<void>;
}

/** Creates the connections of a store. @param addresses of the database's hosts: the primary is looked for at each new connection */
export function createConnections(
	addresses: readonly Address[],
	history: Pick<History, "check">,
	onState: ((state: StoreState) => void) | undefined,
): Connections {
	const links: ReconnectingConnection[] = [];
	const primary = findPrimary(addresses, history);
	let away: { since: string; reason?: Unsuitability } | undefined;
	const state = (): StoreState => ({
		type: "postgresql",
		...(away === undefined ? { status: "healthy" } : { status: "away", ...away }),
	});
	const noteState = () => {
		const isUp = links.every((link) => link.isUp());
		if (isUp && away !== undefined) {
			away = undefined;
			onState?.(state());
		} else if (!isUp) noteAway(away?.reason);
	};
	const noteAway = (reason: Unsuitability | undefined) => {
		if (away !== undefined && away.reason === reason) return;
		away = { since: away?.since ?? system.now().toISOString(), ...(reason && { reason }) };
		onState?.(state());
	};
	const reach = async (prepare?: (connection: Connection) => Promise<void>) => {
		try {
			return await primary.reach(prepare);
		} catch (error) {
			if (away !== undefined) noteAway(error instanceof UnsuitableDatabase ? error.reason : undefined);
			throw error;
		}
	};
	let isClosed = false;
	return {
		async open(prepare) {
			const link = await openReconnecting(() => reach(prepare), noteState);
			links.push(link);
			// Another one could not be opened, so that the store gave up.
			if (isClosed) await link.close();
			return link;
		},
		address: primary.address,
		state,
		async close() {
			isClosed = true;
			await Promise.all(links.map((link) => link.close()));
		},
	};
}

/** Finds the primary among several hosts, beginning with the last one that was it. */
function findPrimary(addresses: readonly Address[], history: Pick<History, "check">) {
	let order = addresses;
	/** Timelines of the connections that are open. */
	const open = new Map<Connection, number>();
	/** Closes connections to a primary from before a failover: it may still answer. */
	const closeOlder = (timeline: number) => {
		for (const [connection, other] of open) if (other < timeline) void connection.close();
	};
	return {
		address: () => order[0] as Address,
		async reach(prepare?: (connection: Connection) => Promise<void>): Promise<Connection> {
			let timeline: number | undefined;
			const { connection, address } = await reachDatabase(order, async (reached) => {
				timeline = await history.check(reached);
				await prepare?.(reached);
			});
			order = [address, ...addresses.filter((other) => other !== address)];
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
