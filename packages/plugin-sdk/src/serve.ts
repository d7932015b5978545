import {
	describeData,
	type EngineResponse,
	type Fields,
	isObject,
	MAX_REQUEST_BYTES,
	ProtocolViolation,
	parseDescriptor,
	readRequest,
	splitLines,
	writeResponse,
} from "@svc/protocol";
import { type Engine, EngineError, ParamsError } from "./engine.ts";

/** Where requests come from and responses go to: a process, or a test. */
export interface Streams {
	stdin: NodeJS.ReadableStream;
	stdout: { write(text: string): unknown };
}

/**
 * Answers requests, one line each, one after the other, until the input ends. Nothing else may be written to standard output; logs go to
 * standard error.
 * @throws DescriptorError when plugin.json is not what the contract asks for
 */
export async function serveEngine(engine: Engine, streams: Streams = process): Promise<void> {
	const descriptor = parseDescriptor(engine.descriptor);
	const describe = () => ({ ...describeData(descriptor) });
	let last: Promise<void> = Promise.resolve();
	const split = splitLines(MAX_REQUEST_BYTES, {
		onLine(line) {
			last = last.then(async () => void streams.stdout.write(writeResponse(await answer(engine, describe, line))));
		},
		onOverflow() {
			streams.stdout.write(writeResponse({ error: `the request is longer than ${MAX_REQUEST_BYTES} bytes` }));
		},
	});
	for await (const chunk of streams.stdin) split(chunk as Buffer);
	await last;
}

async function answer(engine: Engine, describe: () => Fields, line: Buffer): Promise<EngineResponse> {
	const prefix = engine.invalidParams ?? "invalid params";
	try {
		const { method, params } = readRequest(line);
		if (!isObject(params)) throw new ParamsError("params must be an object");
		return { data: await dispatch(engine, describe, method, params) };
	} catch (error) {
		if (error instanceof EngineError) return { error: error.message };
		if (error instanceof ParamsError || error instanceof ProtocolViolation)
			return { error: `${prefix}: ${error.message}` };
		// Whatever this is, its text may hold what was received.
		return { error: `internal error: ${error instanceof Error ? error.name : "unknown"}` };
	}
}

async function dispatch(engine: Engine, describe: () => Fields, method: string, params: Fields): Promise<Fields> {
	switch (method) {
		case "describe":
			return describe();
		case "ping":
			await engine.ping?.();
			return { status: "healthy" };
		case "generate":
			if (engine.generate === undefined) throw new EngineError("engine does not support generation");
			return engine.generate(params);
		case "validate":
			if (engine.validate === undefined) throw new EngineError("engine does not support validation");
			return engine.validate(params);
		default:
			throw new EngineError("unknown method: describe, ping, generate and validate are known");
	}
}
