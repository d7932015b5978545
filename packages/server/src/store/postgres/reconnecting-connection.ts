import { setTimeout as delay } from "node:timers/promises";
import type { StoreReason } from "../../health/model.ts";
import { type Connection, ConnectionLost, type Session } from "./connection.ts";
import { reasonOf } from "./failure.ts";

/** A session whose connection is made again whenever it was lost. While there is none, statements throw ConnectionLost. */
export interface ReconnectingConnection extends Session {
	isUp(): boolean;
	/** Names why there is no connection; undefined while there is one. */
	trouble(): StoreReason | undefined;
	/** Closes a connection on which the database has not answered since this moment. */
	loseUnlessHeard(since: number): void;
	/** Waits for a connection. @returns false when there was none in time */
	isUpWithin(patience_ms: number): Promise<boolean>;
	close(): Promise<void>;
}

/** Milliseconds between two attempts, which grow from the first to the last. */
const FIRST_MS = 100;
const LAST_MS = 2000;

/**
 * Opens a connection that is made again after it was lost.
 * @param open makes a connection, the first and each later one
 * @param onChange called after a connection was lost, after an attempt to make one failed, and after one was made again
 * @throws Error when the first connection cannot be made
 */
export async function openReconnecting(
	open: () => Promise<Connection>,
	onChange: () => void,
): Promise<ReconnectingConnection> {
	let current: Connection | undefined;
	/** A transaction ends with the connection on which it began. */
	let pinned: Connection | undefined;
	let back = Promise.withResolvers<void>();
	let trouble: StoreReason | undefined;
	const closing = new AbortController();
	const use = (connection: Connection) => {
		current = connection;
		trouble = undefined;
		back.resolve();
		void connection.ended.then(() => {
			if (closing.signal.aborted) return;
			current = undefined;
			trouble = "unreachable";
			back = Promise.withResolvers();
			onChange();
			void renew();
		});
	};
	const renew = async () => {
		for (let wait_ms = FIRST_MS; !closing.signal.aborted; wait_ms = Math.min(2 * wait_ms, LAST_MS)) {
			const made = await open().catch((error: unknown) => {
				trouble = reasonOf(error);
			});
			if (made && closing.signal.aborted) return made.close();
			if (made) use(made);
			if (!closing.signal.aborted) onChange();
			if (made) return;
			await delay(wait_ms, undefined, { signal: closing.signal }).catch(() => undefined);
		}
	};
	const isUp = () => current?.isLost() === false;
	const connection = () => pinned ?? current ?? lost();
	use(await open());
	return {
		rows: async (text, values) => connection().rows(text, values),
		run: async (text, values) => connection().run(text, values),
		script: async (text) => connection().script(text),
		async transaction(begin, step) {
			pinned = connection();
			try {
				return await pinned.transaction(begin, step);
			} finally {
				pinned = undefined;
			}
		},
		isUp,
		trouble: () => (isUp() ? undefined : (trouble ?? "unreachable")),
		loseUnlessHeard: (since) => current?.loseUnlessHeard(since),
		async isUpWithin(patience_ms) {
			if (!isUp()) await current?.ended;
			await Promise.race([back.promise, delay(patience_ms, undefined, { ref: false })]);
			return isUp();
		},
		async close() {
			closing.abort();
			await current?.close();
		},
	};
}

function lost(): never {
	throw new ConnectionLost("there is no connection to the database");
}
