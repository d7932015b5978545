import { createRowMacs, type RowKey, type RowMacs } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import { system } from "../../system.ts";
import type { Store } from "../store.ts";
import { createAdapter } from "./adapter.ts";
import type { Address } from "./address.ts";
import { takeDatabase } from "./admission.ts";
import { createChanges, type Trust } from "./changes.ts";
import { type Connection, connect } from "./connection.ts";
import { takeCopy } from "./copies.ts";
import { createLane, LANES, type Lane, type LaneName } from "./lanes.ts";
import { type FindAlterations, migrate } from "./migrate.ts";
import { findMisfits, isNew } from "./misfits.ts";
import { createWriter } from "./writer.ts";

/** Exit code of a storage failure: EX_IOERR. Design: §4. */
const STORAGE_EXIT_CODE = 74;

/** Database to open, and listener to its end. */
export interface PostgresOptions {
	address: Address;
	/** Start of the server. */
	now: Date;
	/** Called once when a connection was lost: the process must end. */
	onFailure(error: FatalError): void;
}

/** The keys of rows, and what was found altered under them. */
interface Guard extends Trust {
	found: readonly string[];
	keys(): readonly RowKey[];
	/** Resolves when a change finds an alteration. */
	noticed: Promise<void>;
	use(row_keys: RowKey[]): { macs: RowMacs; isFirst: boolean };
	/** Lets rows get MACs from now on. */
	begin(): void;
}

/**
 * Opens the PostgreSQL adapter of the store, without caches: connects, migrates, and keeps its connections.
 * @throws FatalError when the database cannot be used, or another server uses it; Error when it cannot be reached
 */
export async function openPostgresStore({ address, now, onFailure }: PostgresOptions): Promise<Store> {
	const links = createLinks(address, onFailure);
	try {
		const writing = await links.open();
		await takeDatabase(writing);
		const findAlterations = await migrate(writing, now.toISOString());
		const lanes = await openLanes(links);
		const guard = createGuard();
		const changes = createChanges(writing, guard);
		const writer = createWriter(changes, links.isUsable);
		const adapter = createAdapter({
			lanes,
			writer,
			change: changes.change,
			macs: guard.macs,
			keys: guard.keys,
			alterations: async (sql) => [...new Set([...(await findAlterations(sql)), ...guard.found])],
		});
		return {
			...adapter,
			state: () => ({ type: "postgresql", status: "healthy" }),
			isWritable: async () => links.isUsable(),
			eventsOnLowDisk: () => ({ most: 0, refused: 0 }),
			questionTimes: () => ({ seconds: 0, refused: 0 }),
			copyTo: (file) => takeCopy(address, file),
			...looking(lanes.everything, guard, findAlterations),
			altered: guard.noticed,
			async close() {
				await Promise.all([writer.close(), ...Object.values(lanes).map((lane) => lane.close())]);
				await links.close();
			},
		};
	} catch (error) {
		await links.close();
		throw error;
	}
}

/** Makes the operations that compare the database with what the last change left; the first one also compares its schema with what the migrations make. */
function looking(lane: Lane, guard: Guard, findAlterations: FindAlterations): Pick<Store, "guard" | "misfits"> {
	return {
		async guard(row_keys) {
			const { macs, isFirst } = guard.use(row_keys);
			if (!isFirst) return;
			const found = await lane.ask(async (sql) => [
				...(await findAlterations(sql)),
				...((await isNew(sql)) ? [] : (await findMisfits(sql, macs, ["access"])).access),
			]);
			if (found.length > 0) guard.lose(found);
			else guard.begin();
		},
		misfits: () => lane.ask((sql) => findMisfits(sql, guard.macs(), ["access", "content"])),
	};
}

/** Makes the connections of a store: when one is lost, the store has failed. */
function createLinks(address: Address, onFailure: PostgresOptions["onFailure"]) {
	const connections: Connection[] = [];
	let isUsable = true;
	const lost = () => {
		if (!isUsable) return;
		isUsable = false;
		onFailure(
			new FatalError(
				"a connection to the database was lost, stopping: check the database, then start again",
				STORAGE_EXIT_CODE,
			),
		);
	};
	return {
		isUsable: () => isUsable,
		async open() {
			const connection = await connect(address);
			connections.push(connection);
			void connection.ended.then(lost);
			return connection;
		},
		async close() {
			isUsable = false;
			await Promise.all(connections.map((connection) => connection.close()));
		},
	};
}

async function openLanes(links: ReturnType<typeof createLinks>): Promise<Record<LaneName, Lane>> {
	const open = async (name: LaneName) => {
		const connections = await Promise.all(Array.from({ length: LANES[name] }, links.open));
		return createLane(connections, links.isUsable, name === "requests");
	};
	const [requests, long, everything] = await Promise.all([open("requests"), open("long"), open("everything")]);
	return { requests, long, everything };
}

function createGuard(): Guard {
	const { promise: noticed, resolve } = Promise.withResolvers<void>();
	const found: string[] = [];
	let keys: readonly RowKey[] = [];
	let macs: RowMacs | undefined;
	let isSound = false;
	return {
		found,
		noticed,
		keys: () => keys,
		macs: () => macs ?? noKeys(),
		isSound: () => isSound,
		use(row_keys) {
			const isFirst = macs === undefined;
			keys = row_keys;
			macs = createRowMacs(row_keys, system.randomBytes);
			return { macs, isFirst };
		},
		begin() {
			isSound = true;
		},
		lose(altered) {
			isSound = false;
			found.push(...altered);
			resolve();
		},
	};
}

function noKeys(): never {
	throw new Error("the store has no keys for its rows yet");
}
