import { connect } from "../client/connection.ts";
import { type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { parseDuration } from "../input/duration.ts";
import { note, visible } from "../io/output.ts";
import type { Program } from "./program.ts";
import { type RealmEnvironment, readState, type Secret } from "./secrets.ts";
import { ownerOf, readAndCache, type SourceOptions } from "./source.ts";
import type { Watch } from "./watch.ts";

/** Options for restarting a program. */
export interface WatchOptions extends SourceOptions {
	readonly watch?: boolean;
	readonly watchInterval: string;
	readonly killAfter: string;
}

/** The options of `WatchOptions`. */
export const WATCH_OPTIONS = [
	option("--watch", "restart the program when a secret has changed").conflicts("offline"),
	option("--watch-interval <duration>", "time between two checks").default("60s"),
	option("--kill-after <duration>", "how long the program may take to end before it is killed").default("30s"),
];

/** A paragraph of the help. */
export const WATCH_HELP =
	"With --watch, svc restarts the program when its secrets change: it sends SIGTERM, waits for the end, and starts the program with the new values. Several changes within a moment cause one restart. Each check reads no values and is an event in the audit log. While the server is away, the program keeps running. After svc receives a signal to stop, it does not restart the program.";

/** Milliseconds for one check: the program may end meanwhile. */
const CHECK_TIMEOUT_MS = 10_000;

/** Pause between a change and the restart. */
const SETTLE_MS = 1500;

/** Times of a watch. */
type WatchTimes = Pick<Watch, "interval_ms" | "settle_ms" | "kill_after_ms">;

/** Milliseconds that fit a timer even with a tenth more: above 2^31 it fires immediately. */
const MAX_TIMER_MS = 20 * 86_400_000;

/** Reads the durations of the options; undefined without --watch. @throws Failure usage when one is none, or over 20 days */
export function watchTimes({ watch, watchInterval, killAfter }: WatchOptions): WatchTimes | undefined {
	if (watch !== true) return undefined;
	return {
		interval_ms: parseDuration("--watch-interval", watchInterval, MAX_TIMER_MS),
		settle_ms: SETTLE_MS,
		kill_after_ms: parseDuration("--kill-after", killAfter, MAX_TIMER_MS),
	};
}

/**
 * Watches the secrets of an environment.
 * @param build makes the program from the secrets
 */
export async function watchSecrets(
	context: Context<WatchOptions>,
	where: RealmEnvironment,
	times: WatchTimes,
	build: (secrets: readonly Secret[]) => Program,
): Promise<Watch> {
	const owner = await ownerOf(context, where);
	let problem: string | undefined;
	let known: { readonly state: string; readonly program: Program } | undefined;
	const read = async () => {
		const client = { ...(await connect(context)), timeoutMs: CHECK_TIMEOUT_MS };
		const state = await readState(client, where);
		if (known?.state !== state) known = { state, program: build(await readAndCache(context, client, owner)) };
		return known.program;
	};
	return {
		...times,
		restarts: () => note(context, "svc: the secrets have changed, restarting the program"),
		check: async () => {
			try {
				const program = await read();
				if (problem !== undefined) await note(context, "svc: the secrets are watched again");
				problem = undefined;
				return program;
			} catch (error) {
				// The watch goes on, whatever the error.
				const reason = error instanceof Failure ? error.message : "they cannot be read";
				if (reason !== problem)
					await note(context, visible(`svc: the program continues with the secrets that it has: ${reason}`));
				problem = reason;
				return undefined;
			}
		},
	};
}
