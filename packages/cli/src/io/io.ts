import type { Readable, Writable } from "node:stream";

/** Everything a command reads and writes besides files and the network, so that tests need no process. */
export interface Io {
	readonly stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
	readonly stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
	readonly stderr: Writable & { isTTY?: boolean; columns?: number };
	/** Environment variables; nothing else reads the process's own. */
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The working directory, absolute. */
	cwd(): string;
	/** Listens for a signal, which then no longer ends this process. */
	on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
	/** Stops listening. */
	off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

/** An environment variable; an empty one counts as not set. */
export function setting(io: Io, name: string): string | undefined {
	return io.env[name] || undefined;
}

/** Tells whether a person can be asked: questions go to stderr, answers come from stdin. */
export function isInteractive(io: Io): boolean {
	return io.stdin.isTTY === true && io.stderr.isTTY === true;
}

const READER_LEFT = new Set(["EPIPE", "ERR_STREAM_DESTROYED"]);

/** Tells whether an error means that the reader has left. */
export function hasReaderLeft(error: unknown): boolean {
	return READER_LEFT.has((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Writes and waits until the text has left the process. A reader that left (`svc … | head`) is no error.
 * @throws the system's error when the text could not be written, such as ENOSPC
 */
export async function write(stream: Writable, text: string): Promise<void> {
	await writeBytes(stream, text).catch((error: unknown) => {
		if (!hasReaderLeft(error)) throw error;
	});
}

/** Writes and waits until the bytes have left the process. @throws the system's error, also when the reader has left */
export function writeBytes(stream: Writable, bytes: string | Uint8Array): Promise<void> {
	// The callback reports the error; without a listener the event would end the process first.
	if (stream.listenerCount("error") === 0) stream.on("error", () => {});
	return new Promise((resolve, reject) => {
		stream.write(bytes, (error) => {
			if (error) reject(error);
			else resolve();
		});
	});
}
