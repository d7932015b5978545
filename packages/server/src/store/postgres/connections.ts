import { system } from "../../system.ts";
import type { StoreState } from "../store.ts";
import type { Address } from "./address.ts";
import { type Connection, connect } from "./connection.ts";
import { createReadPool, POOL_SIZES, type PoolName, type ReadPool } from "./read-pools.ts";
import { openReconnecting, type ReconnectingConnection } from "./reconnecting-connection.ts";

/** All connections of a store to its database. */
export interface Connections {
	/** Opens one. @param prepare called with each connection before it is used */
	open(prepare?: (connection: Connection) => Promise<void>): Promise<ReconnectingConnection>;
	/** `away` while one of them has no connection. */
	state(): StoreState;
	close(): Promise<void>;
}

/** Creates the connections of a store. */
export function createConnections(address: Address, onState: ((state: StoreState) => void) | undefined): Connections {
	const links: ReconnectingConnection[] = [];
	let away_since: string | undefined;
	const state = (): StoreState => ({
		type: "postgresql",
		...(away_since === undefined ? { status: "healthy" } : { status: "away", since: away_since }),
	});
	const noteState = () => {
		const isUp = links.every((link) => link.isUp());
		if (isUp === (away_since === undefined)) return;
		away_since = isUp ? undefined : system.now().toISOString();
		onState?.(state());
	};
	let isClosed = false;
	return {
		async open(prepare) {
			const link = await openReconnecting(() => connectAnd(address, prepare), noteState);
			links.push(link);
			// Another one could not be opened, so that the store gave up.
			if (isClosed) await link.close();
			return link;
		},
		state,
		async close() {
			isClosed = true;
			await Promise.all(links.map((link) => link.close()));
		},
	};
}

async function connectAnd(
	address: Address,
	prepare: ((connection: Connection) => Promise<void>) | undefined,
): Promise<Connection> {
	const connection = await connect(address);
	try {
		await prepare?.(connection);
		return connection;
	} catch (error) {
		await connection.close();
		throw error;
	}
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
