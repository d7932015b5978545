import { system } from "../../system.ts";
import type { StoreState } from "../store.ts";
import type { Address } from "./address.ts";
import { type Connection, connect } from "./connection.ts";
import { createReadPool, POOL_SIZES, type ReadPool, type PoolName } from "./read-pools.ts";
import { type Link, openLink } from "./link.ts";

/** All links of a store to its database. */
export interface Links {
	/** Opens one. @param prepare called with each connection before it is used */
	open(prepare?: (connection: Connection) => Promise<void>): Promise<Link>;
	/** `away` while one of them has no connection. */
	state(): StoreState;
	close(): Promise<void>;
}

/** Makes the links of a store. */
export function createLinks(address: Address, onState: ((state: StoreState) => void) | undefined): Links {
	const links: Link[] = [];
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
			const link = await openLink(() => connectAnd(address, prepare), noteState);
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

/** Opens the pools of a store. */
export async function openReadPools(links: Pick<Links, "open">): Promise<Record<PoolName, ReadPool>> {
	const open = async (name: PoolName) =>
		createReadPool(await Promise.all(Array.from({ length: POOL_SIZES[name] }, () => links.open())), name === "requests");
	const [requests, long, everything] = await Promise.all([open("requests"), open("long"), open("everything")]);
	return { requests, long, everything };
}
