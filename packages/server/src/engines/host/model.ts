import type { Descriptor } from "@svc/protocol";
import type { Kind } from "../kinds/kind.ts";

/** Command that starts a process of an engine. */
export interface Launch {
	file: string;
	arguments: string[];
	/** Options for Node through its environment, where they cannot be arguments. */
	node_options?: string;
}

/** An engine that comes with the server. */
export interface BuiltInEngine {
	/** The content of its plugin.json. */
	descriptor: unknown;
	/** True if it may open connections. */
	network: boolean;
	/** Command without the flags with which Node restricts it. */
	launch: Launch;
	/**
	 * Way to pass the restricting flags to Node: by arguments, or, in the single binary, by NODE_OPTIONS. False when `launch.file` is another
	 * program.
	 */
	node: "arguments" | "environment" | false;
	/** Files and folders of its program. */
	reads?: readonly string[];
}

/** An engine that the server knows, usable or not. */
export interface CatalogEntry {
	type: string;
	descriptor: Descriptor;
	kind: Kind;
	is_built_in: boolean;
	/** True for a program of ours, restricted by Node. Its answers are trusted to stay in step with the requests. */
	is_restricted: boolean;
	/** True if it talks to another system, and so may take longer; assumed for a third party's that makes credentials. */
	network: boolean;
	/** Reason why it is unusable; undefined when it is usable. */
	unavailable: string | undefined;
	/** Builds the command that starts it. @param reads files and folders that it may read besides its own program */
	launch(reads: readonly string[]): Launch;
}

/**
 * The settings with which a process of an engine starts. Calls of equal `key` share processes, so a changed configuration needs a new key.
 */
export interface EngineSettings {
	key: string;
	/** Variables besides the few that every process has; they cannot replace those. */
	environment: Readonly<Record<string, string>>;
	/** Files or folders that an engine of ours may read; a third party's may read all that the server's user may. */
	reads: readonly string[];
	/** Texts to mask in the process's standard error, and in its errors. */
	secrets: readonly string[];
}

/** Failure of an engine to answer. The message is the reason, without secrets and without anything that was sent. */
export class EngineUnavailable extends Error {
	override readonly name = "EngineUnavailable";
	/** Event that caused it, such as `the process exited with status 1`. */
	readonly reason: string;
	/** True if the engine may have acted on the request. */
	readonly sent: boolean;

	constructor(reason: string, sent: boolean) {
		super(reason);
		this.reason = reason;
		this.sent = sent;
	}
}

/** State of an engine, over all of its configurations. */
export interface EngineState {
	type: string;
	/** Number of processes that run now. */
	processes: number;
	/** `open`: its processes failed so often by themselves that every realm's calls are refused without starting another. */
	breaker: "closed" | "open";
	/** Number of realms whose calls alone are refused, because they made its processes fail so often. */
	refused_realms: number;
	/** Last failure with a configuration in use. */
	last_failure: string | undefined;
	/** Reason why it is unusable. */
	unavailable: string | undefined;
}

/** Time limits and pauses, in milliseconds. Design: §8 */
export interface Timing {
	/** Wait for a process's first answer: for the engine's first process, while files are cold, and for later ones. */
	cold_start_ms: number;
	start_ms: number;
	/** Wait for an answer; longer for an engine that talks to another system. */
	call_ms: number;
	network_call_ms: number;
	/** Wait until a request is read. */
	write_ms: number;
	/** Wait for a free process: longer than the slowest start, whose failure gives the better reason. */
	queue_ms: number;
	/** Wait for the last output of an ended process. */
	drain_ms: number;
	/** Wait for a process to end after the end of its input, and again after SIGTERM. */
	end_ms: number;
	/** Wait for the next call before an idle process is ended. */
	idle_ms: number;
	/** Pause before the start after a failure; it doubles with each. */
	pause_ms: number;
	/** Window in which failures count. */
	window_ms: number;
	/** Pause between two attempts while the breaker is open. */
	probe_ms: number;
	/** Pause between two starts for realms when many of their calls fail. */
	pace_ms: number;
}

/** The timing of a server. */
export const TIMING: Timing = {
	cold_start_ms: 10_000,
	start_ms: 5_000,
	call_ms: 5_000,
	// An engine at a cluster makes three calls of 10 s each; the rest is a margin.
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
