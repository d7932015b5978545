import {
	describeData,
	type Fields,
	isObject,
	MAX_ERROR_BYTES,
	MAX_REQUEST_BYTES,
	MAX_RESPONSE_BYTES,
	METHODS,
	ProtocolViolation,
	parseDescriptor,
	readRequest,
	readResponse,
	splitLines,
	writeResponse,
} from "@svc/protocol";
import { type Engine, EngineError, ParamsError } from "./engine.ts";

/** The streams of requests and responses: a process's, or a test's. */
export interface Streams {
	stdin: NodeJS.ReadableStream & { destroy?(): unknown };
	stdout: { write(text: string): unknown; on?(event: "error", listener: (error: Error) => void): unknown };
	/** Receives the engine's own faults, without anything that was received. */
	stderr?: { write(text: string): unknown };
}

/**
 * Answers requests, one per line and one after the other, until the input ends or nobody reads the responses any more. Then the process ends by
 * itself. Only this function may write to standard output; logs go to standard error.
 * @throws DescriptorError when plugin.json violates the contract
 */
export async function serveEngine(engine: Engine, streams: Streams = process): Promise<void> {
	const descriptor = parseDescriptor(engine.descriptor);
	const describe = () => ({ ...describeData(descriptor) });
	const lines: Buffer[] = [];
	let isTooLong = false;
	let isUnread = false;
	const split = splitLines(MAX_REQUEST_BYTES, {
		onLine: (line) => lines.push(line),
		onOverflow: () => {
			isTooLong = true;
		},
	});
	streams.stdout.on?.("error", () => {
		isUnread = true;
		streams.stdin.destroy?.();
	});
	try {
		for await (const chunk of streams.stdin) {
			split(chunk as Buffer);
			for (const line of lines.splice(0)) {
				if (isUnread) return;
				streams.stdout.write(await respond(engine, describe, line, streams));
			}
			if (isTooLong) {
				streams.stdout.write(refusal(`the request is longer than ${MAX_REQUEST_BYTES} bytes`));
				return;
			}
		}
	} catch (error) {
		// The input was destroyed above.
		if (!isUnread) throw error;
	}
}

/** Returns the response as a line. Never rejects. */
async function respond(engine: Engine, describe: () => Fields, line: Buffer, { stderr }: Streams): Promise<string> {
	const prefix = engine.invalidParams ?? "invalid params";
	try {
		const { method, params } = readRequest(line);
		if (!isObject(params)) throw new ParamsError("params must be an object");
		return accepted(await dispatch(engine, describe, method, params));
	} catch (error) {
		if (error instanceof EngineError) return refusal(error.message);
		if (error instanceof ParamsError || error instanceof ProtocolViolation)
			return refusal(`${prefix}: ${error.message}`);
		// The text of an unknown error may contain what was received.
		const name = error instanceof Error ? error.name : typeof error;
		stderr?.write(`internal error: ${name}\n${stackOf(error)}`);
		return refusal(`internal error: ${name}`);
	}
}

async function dispatch(engine: Engine, describe: () => Fields, method: string, params: Fields): Promise<Fields> {
	switch (method) {
		case "describe":
			return describe();
		case "ping":
			await engine.ping?.(params);
			return { status: "healthy" };
		case "generate":
			if (engine.generate === undefined) throw new EngineError("engine does not support generation");
			return engine.generate(params);
		case "validate":
			if (engine.validate === undefined) throw new EngineError("engine does not support validation");
			return engine.validate(params);
		case "list":
			if (engine.list === undefined) throw new EngineError("engine does not support listing");
			return engine.list(params);
		case "privileges":
			if (engine.privileges === undefined) throw new EngineError("engine does not tell privileges");
			return engine.privileges(params);
		default:
			throw new EngineError(`unknown method: ${METHODS.join(", ")} are known`);
	}
}

/**
 * Returns a response as a line that the server accepts.
 * @throws EngineError saying why the server would end the process for it
 */
function accepted(data: Fields): string {
	const line = writeResponse({ data });
	if (Buffer.byteLength(line) > MAX_RESPONSE_BYTES) {
		throw new EngineError(`internal error: the response is longer than ${MAX_RESPONSE_BYTES} bytes`);
	}
	try {
		readResponse(Buffer.from(line));
	} catch (error) {
		if (!(error instanceof ProtocolViolation)) throw error;
		throw new EngineError(`internal error: ${error.message}`, { cause: error });
	}
	return line;
}

/** Returns an error as a line, shortened to what the server accepts. */
function refusal(error: string): string {
	const text = error.toWellFormed();
	if (Buffer.byteLength(text) <= MAX_ERROR_BYTES) return writeResponse({ error: text });
	// A character cut in two becomes a replacement of three bytes.
	return writeResponse({ error: Buffer.from(text).toString("utf8", 0, MAX_ERROR_BYTES - 3) });
}

/** Returns an error's stack without the message. */
function stackOf(error: unknown): string {
	const { stack = "" } = error instanceof Error ? error : {};
	const lines = stack.split("\n").filter((line) => line.startsWith("    at "));
	return lines.map((line) => `${line}\n`).join("");
}
