import { system } from "../../system.ts";
import type { Store } from "../store.ts";
import type { Connections } from "./connections.ts";
import type { DatabaseState } from "./state.ts";
import type { Statements } from "./statements.ts";

/** Milliseconds between two questions to the database about itself. */
const EVERY_MS = 2000;

/** Milliseconds for an answer; a database that needs longer is silent. It reads nothing, so it waits for no disk and no lock. */
const ANSWER_MS = 5000;

/** Milliseconds of an answer from which on the database is slow: a request asks it several times. */
const SLOW_MS = 500;

const MODE = "SELECT current_setting('transaction_read_only') = 'on' AS is_read_only";

/** Parts of the store that the pulse uses. */
interface PulseNeeds {
	links: Pick<Connections, "loseSilent">;
	statements: Statements;
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
export function startPulse({ links, statements, state, probe }: PulseNeeds): Pulse {
	let seconds: number | undefined;
	const look = () =>
		statements.alone(async (sql) => {
			const asked_at = performance.now();
			let isAnswered = false;
			// An answer that came while this process was stopped or busy is read before the check.
			const late = setTimeout(() => setImmediate(() => isAnswered || links.loseSilent(asked_at)), ANSWER_MS);
			try {
				const [found] = await sql.rows<{ is_read_only: boolean }>(MODE);
				isAnswered = true;
				const took_ms = performance.now() - asked_at;
				seconds = took_ms / 1000;
				state.note({
					mode: found?.is_read_only === true ? "read_only" : undefined,
					pace: took_ms > SLOW_MS ? "slow" : undefined,
				});
			} finally {
				isAnswered = true;
				clearTimeout(late);
			}
		});
	const [looking, trying] = [oneAtATime(look), oneAtATime(() => probe(system.now().toISOString()))];
	looking.begin();
	const timer = setInterval(() => {
		looking.begin();
		if (state.isFailing()) trying.begin();
	}, EVERY_MS);
	timer.unref();
	return {
		state: state.now,
		answerSeconds: () => seconds,
		isWritable: async () => ["healthy", "slow"].includes(state.now().status),
		async close() {
			clearInterval(timer);
			await Promise.all([looking.ended(), trying.ended()]);
		},
	};
}

/** Runs work that may fail, never twice at the same time. */
function oneAtATime(work: () => Promise<unknown>) {
	let running: Promise<unknown> | undefined;
	return {
		begin() {
			running ??= work()
				.catch(() => undefined)
				.finally(() => {
					running = undefined;
				});
		},
		ended: async () => void (await running),
	};
}
