import { type EngineResponse, ProtocolViolation, readResponse } from "@svc/protocol";
import { type EngineProcess, type Launch, startProcess } from "./engine-process.ts";
import { Finding } from "./finding.ts";

/** Milliseconds that an engine has to end after its input ended. */
const END_TIMEOUT_MS = 2000;

/** Requests and responses with an engine, one in flight, as with the server. */
export interface Conversation {
	/** True if the engine ended after a response, which it may: it is then restarted for every request. */
	readonly isOneShot: boolean;
	/**
	 * Sends texts that form one line, and reads the response.
	 * @throws Finding when none arrives in time, or none that the server would accept
	 */
	send(...parts: readonly string[]): Promise<EngineResponse>;
	/** Sends a request and reads its response. @throws Finding */
	ask(method: string, params?: unknown): Promise<EngineResponse>;
	/**
	 * Ends the input and waits for the end of the process.
	 * @param last a request sent right before, whose response is read
	 * @throws Finding when the process lives on, or has written more than its responses
	 */
	finish(last?: string): Promise<void>;
	/** Kills the process. */
	kill(): void;
}

/** Starts the engine and begins a conversation. @param timeout_ms milliseconds for a response */
export function converse(launch: Launch, timeout_ms: number): Conversation {
	let engine = startProcess(launch);
	let answers = 0;
	let isOneShot = false;

	const hasEndedWell = () => answers > 0 && engine.ending?.code === 0 && engine.lines.length === 0;
	/** An engine that ended well after an answer is expected to do so every time. */
	const renew = () => {
		isOneShot = true;
		answers = 0;
		engine = startProcess(launch);
	};

	async function exchange(parts: readonly string[]): Promise<Buffer> {
		refuseSurplus(engine);
		await writeParts(engine, parts);
		await engine.until(() => hasSpoken(engine), timeout_ms);
		if (hasEndedWell()) {
			renew();
			return exchange(parts);
		}
		answers++;
		return takeLine(engine, timeout_ms);
	}

	async function send(...parts: readonly string[]): Promise<EngineResponse> {
		if (isOneShot) await engine.until(() => engine.ending !== undefined, END_TIMEOUT_MS);
		if (hasEndedWell()) renew();
		return read(await exchange(parts));
	}

	return {
		get isOneShot() {
			return isOneShot;
		},
		send,
		ask: (method, params = {}) => send(`${JSON.stringify({ method, params })}\n`),
		async finish(last) {
			if (last !== undefined) engine.write(Buffer.from(last));
			engine.endInput();
			if (last !== undefined) {
				await engine.until(() => hasSpoken(engine), timeout_ms);
				read(takeLine(engine, timeout_ms));
			}
			await engine.until(() => engine.ending !== undefined, END_TIMEOUT_MS);
			refuseSurplus(engine);
			if (engine.ending === undefined) throw LIVES_ON;
		},
		kill: () => engine.kill(),
	};
}

/** Milliseconds that the engine waits for the rest of a line that comes in parts. */
const PAUSE_MS = 200;

async function writeParts(engine: EngineProcess, parts: readonly string[]): Promise<void> {
	for (const [index, part] of parts.entries()) {
		if (index > 0) await engine.until(() => hasSpoken(engine), PAUSE_MS);
		engine.write(Buffer.from(part));
	}
}

function hasSpoken(engine: EngineProcess): boolean {
	return engine.lines.length > 0 || engine.isOverlong || engine.ending !== undefined;
}

function takeLine(engine: EngineProcess, timeout_ms: number): Buffer {
	const line = engine.lines.shift();
	if (line === undefined) throw silence(engine, timeout_ms);
	return line;
}

function read(line: Buffer): EngineResponse {
	try {
		return readResponse(line);
	} catch (error) {
		if (!(error instanceof ProtocolViolation)) throw error;
		throw new Finding(
			`a line on standard output is no response: ${error.message}`,
			"write nothing to standard output but one JSON object a line, {data: an object} or {error: a string}; everything else, greetings and logs too, goes to standard error",
		);
	}
}

const LIVES_ON = new Finding(
	`the process still runs ${END_TIMEOUT_MS / 1000} s after its standard input ended`,
	"end the program when reading standard input gives the end of the file: the server ends engines so, and an engine whose server is gone must not live on",
);

const ONE_LINE =
	"write exactly one line for each request, and nothing when none was asked; the server ends an engine that does otherwise";

function refuseSurplus(engine: EngineProcess): void {
	if (engine.lines.length > 0) throw new Finding("more than one line was written for one request", ONE_LINE);
	if (engine.isMidLine) throw new Finding("something was written after the line of the response", ONE_LINE);
}

/** Explains a missing response. */
function silence({ ending, isOverlong, isMidLine }: EngineProcess, timeout_ms: number): Finding {
	if (isOverlong) return new Finding("a line on standard output is longer than 1 MiB", "answer with less");
	if (isMidLine) {
		return new Finding(
			"the response is not followed by a line feed",
			"end each response with one line feed, and flush",
		);
	}
	if (ending?.failure !== undefined) {
		return new Finding(
			`the program could not be started (${ending.failure})`,
			"see that the file exists, may be executed (chmod +x), and is a program for this machine or begins with a line such as #!/bin/sh",
		);
	}
	if (ending !== undefined) {
		return new Finding(
			`the process ended (${ending.signal ?? `exit code ${ending.code}`}) without a response`,
			"answer every request, also one that is refused, with data or an error; what it wrote to standard error may say why it ended",
		);
	}
	return new Finding(
		`there was no response within ${timeout_ms / 1000} s`,
		"read up to the line feed and not to the end of the input, and flush standard output after every line",
	);
}
