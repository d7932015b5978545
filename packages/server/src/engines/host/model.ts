/**
 * The settings that a process of an engine is started with. Processes are shared by calls of equal `key`, so a changed configuration needs
 * a new one.
 */
export interface EngineSettings {
	key: string;
	/** Variables beside the few that every process has; they cannot replace those. */
	environment: Readonly<Record<string, string>>;
	/** Files or folders that an engine of ours may read; a third party's reads what the server's user may read. */
	reads: readonly string[];
	/** Texts that are masked in what the process writes to its standard error, and in its errors. */
	secrets: readonly string[];
}

/** The engine could not answer. The message is the reason, without a secret and without anything that was sent. */
export class EngineUnavailable extends Error {
	override readonly name = "EngineUnavailable";
	/** What happened, as in `the process exited with status 1`. */
	readonly reason: string;
	/** Whether the engine may have acted on the request. */
	readonly sent: boolean;

	constructor(reason: string, sent: boolean) {
		super(reason);
		this.reason = reason;
		this.sent = sent;
	}
}

/** How an engine is doing, over all of its configurations. */
export interface EngineState {
	type: string;
	/** Processes that run now. */
	processes: number;
	/** `open`: its processes failed so often, by themselves, that every realm's calls are refused without starting another. */
	breaker: "closed" | "open";
	/** Realms whose calls alone are refused, because these made its processes fail so often. */
	refused_realms: number;
	/** What went wrong last with a configuration that is in use. */
	last_failure: string | undefined;
	/** Why it is never asked. */
	unavailable: string | undefined;
}

/** Milliseconds that are waited for what. Design: §8 */
export interface Timing {
	/** For an engine's first answer: of its first process, while files are cold, and of a later one. */
	cold_start_ms: number;
	start_ms: number;
	/** For an answer; from an engine that talks to a system of its own it takes longer. */
	call_ms: number;
	network_call_ms: number;
	/** For a request to be read. */
	write_ms: number;
	/** For a process that takes a request: longer than the slowest start, which has the better reason. */
	queue_ms: number;
	/** For what an ended process wrote last. */
	drain_ms: number;
	/** For a process to end when its input ended, and again when it was told to. */
	end_ms: number;
	/** For the next call, before a process is ended. */
	idle_ms: number;
	/** Before the start after a failure; it doubles with each. */
	pause_ms: number;
	/** In which failures count. */
	window_ms: number;
	/** Between two attempts while the breaker is open. */
	probe_ms: number;
	/** Between two starts for realms when many of their calls fail. */
	pace_ms: number;
}

/** What a server waits. */
export const TIMING: Timing = {
	cold_start_ms: 10_000,
	start_ms: 5_000,
	call_ms: 5_000,
	// Three calls of 10 s each, and a margin: so many an engine at a cluster makes.
	network_call_ms: 35_000,
	write_ms: 2_000,
	queue_ms: 12_000,
	drain_ms: 100,
	end_ms: 2_000,
	idle_ms: 10 * 60_000,
	pause_ms: 250,
	window_ms: 60_000,
	probe_ms: 30_000,
	pace_ms: 1_000,
};
