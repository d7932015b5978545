import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

const START_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
/** Characters of its output that are kept. */
const OUTPUT_CHARACTERS = 4096;

/** A program that serves a test. */
export interface PeerProcess {
	/** Returns the end of its output, to either stream. */
	output(): string;
	/**
	 * Asks again and again until an answer comes.
	 * @throws Error with its output when it ends first, or after 60 s
	 */
	until<Answer>(ask: () => Answer | undefined | Promise<Answer | undefined>): Promise<Answer>;
	/** Stops it, and kills it if that takes more than 15 s. */
	end(): Promise<void>;
}

/** Starts a program. Its standard input stays open for the life of this process. */
export function startPeer(program: string, args: readonly string[], cwd: string): PeerProcess {
	const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "pipe"] });
	const closed = once(child, "close");
	const kill = () => void child.kill("SIGKILL");
	process.once("exit", kill);
	let written = "";
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding("utf8").on("data", (text: string) => {
			written = (written + text).slice(-OUTPUT_CHARACTERS);
		});
	}
	const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
	return {
		output: () => written,
		async until(ask) {
			for (const start = performance.now(); performance.now() - start < START_TIMEOUT_MS; await setTimeout(POLL_MS)) {
				const answer = await ask();
				if (answer !== undefined) return answer;
				if (hasEnded()) break;
			}
			throw new Error(`${program} ${hasEnded() ? "ended" : "is not ready"}: ${written}`);
		},
		async end() {
			if (!hasEnded()) child.kill("SIGTERM");
			const patience = globalThis.setTimeout(kill, STOP_TIMEOUT_MS);
			await closed;
			clearTimeout(patience);
			process.off("exit", kill);
		},
	};
}
