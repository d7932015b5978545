import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerOptions } from "../../harness.ts";

/** What a steered server is to do. */
export interface Orders {
	/** Milliseconds by which its wall clock is ahead. */
	readonly wall_ms: number;
	/** Milliseconds by which its machine has been up for longer. */
	readonly uptime_ms: number;
	/** Unix milliseconds at which both clocks were stopped; null while they run. */
	readonly stopped_at: number | null;
	/** Names that the key-value engine gives, one after the other; then it gives its own. */
	readonly names: readonly string[];
}

/** How a test steers a server. */
export interface Steering {
	/** What to start the server with. */
	readonly options: ServerOptions;
	/** Changes the orders that are given; the others stay. The server follows at once. */
	order(changes: Partial<Orders>): Promise<void>;
	/** The orders that are given now. */
	orders(): Orders;
	/** Lets so many seconds pass, on both clocks. */
	pass(seconds: number): Promise<void>;
	remove(): Promise<void>;
}

/** Prepares the orders of one server: no order at first. */
export async function prepareSteering(): Promise<Steering> {
	const folder = await mkdtemp(join(tmpdir(), "svc-orders-"));
	const file = join(folder, "orders.json");
	let orders: Orders = { wall_ms: 0, uptime_ms: 0, stopped_at: null, names: [] };
	const order = async (changes: Partial<Orders>) => {
		orders = { ...orders, ...changes };
		// The server must never read one half.
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
