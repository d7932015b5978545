import { system } from "../../system.ts";
import type { Store } from "../store.ts";
import type { Connections } from "./connections.ts";
import { repeat } from "./repeat.ts";
import type { DatabaseState } from "./state.ts";

/** Milliseconds between two questions to the database about itself. */
const EVERY_MS = 2000;

/** Milliseconds for an answer; a database that needs longer is silent. It reads nothing, so it waits for no disk and no lock. */
const ANSWER_MS = 5000;

/** Milliseconds of an answer from which on the database is slow: a request asks it several times. */
const SLOW_MS = 500;

const MODE = "SELECT current_setting('transaction_read_only') = 'on' AS is_read_only";

/** Parts of the store that the pulse uses. */
interface PulseNeeds {
	links: Pick<Connections, "open" | "loseSilent">;
	state: DatabaseState;
	/** Makes a small change. */
	probe: Store["health"]["probe"];
}

/** Regular question to the database about itself, and what the store says of it. */
export interface Pulse extends Pick<Store, "answerSeconds" | "isWritable" | "state"> {
	close(): Promise<void>;
}

/**
 * Asks the database regularly how it is. A connection that is silent while it has no answer counts as lost. After a change that the database could not
 * write, small ones are tried, so that the state is right again without a request.
 */
export async function startPulse({ links, state, probe }: PulseNeeds): Promise<Pulse> {
	// Of its own: a statement of others may wait for a lock.
	const link = await links.open();
	let seconds: number | undefined;
	const look = async () => {
		const asked_at = performance.now();
		let isOver = false;
		// An answer that came while this process was stopped or busy is read before the check.
		const late = setTimeout(() => setImmediate(() => isOver || links.loseSilent(asked_at)), ANSWER_MS);
		try {
			const [found] = await link.rows<{ is_read_only: boolean }>(MODE);
			const took_ms = performance.now() - asked_at;
			seconds = took_ms / 1000;
			state.note({
				mode: found?.is_read_only === true ? "read_only" : undefined,
				pace: took_ms > SLOW_MS ? "slow" : undefined,
			});
		} finally {
			isOver = true;
			clearTimeout(late);
		}
	};
	const stopLooking = repeat(EVERY_MS, look);
	const stopTrying = repeat(EVERY_MS, async () => {
		if (state.isFailing()) await probe(system.now().toISOString());
	});
	return {
		state: state.now,
		answerSeconds: () => seconds,
		isWritable: async () => ["healthy", "slow"].includes(state.now().status),
		close: async () => void (await Promise.all([stopLooking(), stopTrying()])),
	};
}
