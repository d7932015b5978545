import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import type { Io } from "../io/io.ts";
import { runCli } from "../main.ts";

/** Surroundings of a command in a test. */
export interface Surroundings {
	readonly env?: Record<string, string>;
	/** The working directory; the root by default. */
	readonly cwd?: string;
	/** Content of stdin, when it is not a terminal. */
	readonly stdin?: string | Uint8Array;
	/** Makes all three streams a terminal; each question receives the next of these keystrokes. */
	readonly typed?: readonly string[];
	/** Columns of that terminal; 100 by default. */
	readonly columns?: number;
	/** Receives each text on stderr as it is written. */
	heard?(text: string): void;
}

/** Result of a command. */
export interface Outcome {
	readonly code: number;
	readonly stdout: string;
	readonly stderr: string;
	/** The bytes of stdout. */
	readonly bytes: Buffer;
}

/** Streams in memory, and a record of what was written to them. */
export function fakeIo({ env = {}, cwd = "/", stdin = "", typed, columns = 100, heard }: Surroundings = {}): {
	io: Io;
	outcome(code: number): Outcome;
	/** Sends the command a signal. */
	signal(name: NodeJS.Signals): void;
} {
	const isTTY = typed !== undefined;
	const keys = [...(typed ?? [])];
	const input = new PassThrough();
	if (!isTTY) input.end(stdin);
	const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
	const sink = (chunks: Buffer[], onText = (_: string) => {}) =>
		Object.assign(
			new Writable({
				write(chunk: Buffer, _, done) {
					chunks.push(chunk);
					onText(chunk.toString());
					done();
				},
			}),
			{ isTTY, columns },
		);
	const onStderr = (text: string) => {
		heard?.(text);
		const next = /[:\]?] $/.test(text) ? keys.shift() : undefined;
		if (next !== undefined) input.write(next);
	};
	const signals = new EventEmitter();
	const io = {
		stdin: Object.assign(input, { isTTY, setRawMode: () => input }),
		stdout: sink(written.stdout),
		stderr: sink(written.stderr, onStderr),
		env,
		cwd: () => cwd,
		on: signals.on.bind(signals),
		off: signals.off.bind(signals),
	};
	return {
		io,
		signal: (name) => void signals.emit(name, name),
		outcome: (code) => ({
			code,
			stdout: Buffer.concat(written.stdout).toString(),
			stderr: Buffer.concat(written.stderr).toString(),
			bytes: Buffer.concat(written.stdout),
		}),
	};
}

/** Runs one command and returns its result. */
export async function run(argv: readonly string[], surroundings: Surroundings = {}): Promise<Outcome> {
	const { io, outcome } = fakeIo(surroundings);
	return outcome(await runCli(argv, io));
}

/** A temporary folder, removed at the end of the block. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
	const path = await mkdtemp(join(tmpdir(), "svc-cli-"));
	return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
