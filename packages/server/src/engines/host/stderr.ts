import type { Readable } from "node:stream";
import type { Log } from "../../log.ts";
import { type Mask, showControls } from "./masking.ts";

const LINE_FEED = 0x0a;

/** Bytes kept of a line. */
const MAX_LINE_BYTES = 8 * 1024;

/** Lines logged within a second, and bytes read: a process that writes more waits until the second is over. */
const WINDOW_MS = 1000;
const MAX_WINDOW_LINES = 100;
const MAX_WINDOW_BYTES = 1024 * 1024;

/** Characters of the beginning, kept to explain why the process ended. */
const MAX_BEGINNING = 500;

/** Standard error of a process. */
export interface Stderr {
	/** Returns its beginning, masked, on one line. */
	beginning(): string;
}

interface Options {
	engine: string;
	log: Log;
	mask: Mask;
}

/** Carries a process's standard error to the log, line by line as `engine.stderr`, bounded in length and rate. Design: §8 */
export function followStderr(stream: Readable, { engine, log, mask }: Options): Stderr {
	const rate = createRate((count) => log("warn", "engine.stderr.dropped", { engine, count }));
	const line = Buffer.alloc(MAX_LINE_BYTES);
	let size = 0;
	let isCut = false;
	let beginning = "";

	const hold = (part: Buffer) => {
		isCut ||= part.length > line.length - size;
		size += part.copy(line, size);
	};
	const say = () => {
		if (size > 0) tell();
		size = 0;
		isCut = false;
	};
	const tell = () => {
		const isLogged = rate.addLine();
		const isBeginning = beginning.length < MAX_BEGINNING;
		// Lines of a flood are only counted.
		if (!isLogged && !isBeginning) return;
		const message = showControls(readable(line.toString("utf8", 0, size), isCut, mask));
		if (message.trim() === "") return;
		if (isBeginning) beginning = `${beginning}${beginning === "" ? "" : "; "}${message}`.slice(0, MAX_BEGINNING);
		if (isLogged) log("info", "engine.stderr", { engine, message });
	};

	stream.on("data", (chunk: Buffer) => {
		let start = 0;
		for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
			hold(chunk.subarray(start, end));
			say();
			start = end + 1;
		}
		hold(chunk.subarray(start));
		const wait_ms = rate.addBytes(chunk.length);
		if (wait_ms > 0) pause(stream, wait_ms);
	});
	stream.once("close", () => {
		say();
		rate.end();
	});
	return { beginning: () => beginning };
}

/** Masks a line, and drops the end of a cut line, which may be the beginning of a secret. */
function readable(text: string, isCut: boolean, mask: Mask): string {
	const masked = mask(text.replace(/\r$/, ""));
	return isCut ? `${masked.slice(0, masked.length - mask.longest)}…` : masked;
}

function pause(stream: Readable, wait_ms: number): void {
	stream.pause();
	setTimeout(() => stream.resume(), wait_ms).unref();
}

/** Counts within windows of a second. @param report receives the number of lines dropped in a window */
function createRate(report: (dropped: number) => void) {
	let start = performance.now();
	let lines = 0;
	let bytes = 0;

	const renew = () => {
		if (lines > MAX_WINDOW_LINES) report(lines - MAX_WINDOW_LINES);
		start = performance.now();
		lines = 0;
		bytes = 0;
	};
	const rest = () => start + WINDOW_MS - performance.now();

	return {
		/** Counts a line, and tells whether it may be logged. */
		addLine(): boolean {
			if (rest() <= 0) renew();
			return ++lines <= MAX_WINDOW_LINES;
		},
		/** Counts bytes. @returns milliseconds to wait before reading more */
		addBytes(count: number): number {
			if (rest() <= 0) renew();
			bytes += count;
			return bytes > MAX_WINDOW_BYTES ? Math.max(1, rest()) : 0;
		},
		end: renew,
	};
}
