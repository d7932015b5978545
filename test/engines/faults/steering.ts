import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerOptions } from "../../harness.ts";

/** Orders for a steered server. */
export interface Orders {
	/** Milliseconds that its wall clock is ahead. */
	readonly wall_ms: number;
	/** Milliseconds added to its machine's uptime. */
	readonly uptime_ms: number;
	/** Unix milliseconds at which both clocks were stopped; null while they run. */
	readonly stopped_at: number | null;
	/** Names for the key-value engine to use, one after the other; afterwards it uses its own. */
	readonly names: readonly string[];
}

/** Lets a test steer a server. */
export interface Steering {
	/** Options to start the server with. */
	readonly options: ServerOptions;
	/** Changes the given orders; the others stay. The server follows immediately. */
	order(changes: Partial<Orders>): Promise<void>;
	/** Returns the current orders. */
	orders(): Orders;
	/** Advances both clocks by this many seconds. */
	pass(seconds: number): Promise<void>;
	remove(): Promise<void>;
}

/** Prepares the orders of one server, none at first. */
export async function prepareSteering(): Promise<Steering> {
	const folder = await mkdtemp(join(tmpdir(), "svc-orders-"));
	const file = join(folder, "orders.json");
	let orders: Orders = { wall_ms: 0, uptime_ms: 0, stopped_at: null, names: [] };
	const order = async (changes: Partial<Orders>) => {
		orders = { ...orders, ...changes };
		// The server must never read half of the file.
		await writeFile(`${file}.new`, JSON.stringify(orders));
		await rename(`${file}.new`, file);
	};
	await order({});
	return {
		options: { program: "test/engines/faults/steered-server.ts", env: { SVC_TEST_ORDERS: file } },
		order,
		orders: () => orders,
		pass: (seconds) =>
			order({ wall_ms: orders.wall_ms + seconds * 1000, uptime_ms: orders.uptime_ms + seconds * 1000 }),
		remove: () => rm(folder, { recursive: true }),
	};
}
