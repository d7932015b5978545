import { JsonError, parseJson } from "./json.ts";

/**
 * The methods of engines. Spec: ENGINES › Plugin protocol. `list` is for engines that declare `engine:list`: the managed names at the
 * target, `{names: […]}`, by which the server sees that a credential is gone. `privileges` is for engines that declare `engine:privileges`: their
 * needs at the target, and whether each is met.
 */
export const METHODS = ["describe", "ping", "generate", "validate", "list", "privileges"] as const;

export type Method = (typeof METHODS)[number];

/** A JSON object. */
export type Fields = Record<string, unknown>;

/** One line to an engine. */
export interface EngineRequest {
	method: Method;
	params: Fields;
}

/** One line from an engine: exactly one of the two. */
export type EngineResponse = { data: Fields } | { error: string };

/** Bytes of a request's line, of a response's, and of an error's text, without the line feed. */
export const MAX_REQUEST_BYTES = 256 * 1024;
export const MAX_RESPONSE_BYTES = 1024 * 1024;
export const MAX_ERROR_BYTES = 8 * 1024;

/** Replacement for a stored secret in every answer and text; sent back in a configuration, it keeps the secret. */
export const MASK = "********";

/** A line that is no response. Its sender gets no further request. The message never quotes the line. */
export class ProtocolViolation extends Error {
	override readonly name = "ProtocolViolation";
}

/** Writes a request as its line, line feed included. */
export function writeRequest(request: EngineRequest): Buffer {
	return Buffer.from(`${JSON.stringify({ method: request.method, params: request.params })}\n`);
}

/** Writes a response as its line, line feed included. */
export function writeResponse(response: EngineResponse): string {
	return `${JSON.stringify(response)}\n`;
}

/**
 * Reads a response: UTF-8, one JSON object, exactly one of `data` (an object) and `error` (a string). It also refuses valid JSON that would change
 * or do harm on its way to a caller: see `refuseUnportable`.
 * @param line without its line feed
 * @throws ProtocolViolation
 */
export function readResponse(line: Uint8Array): EngineResponse {
	const message = readObject(line, "the response");
	refuseUnportable(message);
	const names = Object.keys(message);
	const [name] = names;
	if (names.length !== 1) throw new ProtocolViolation("the response must have exactly one member: data or error");
	const { data, error } = message;
	if (name === "data" && isObject(data)) return { data };
	if (name !== "error" || typeof error !== "string") {
		throw new ProtocolViolation("the response must be {data: an object} or {error: a string}");
	}
	if (Buffer.byteLength(error) > MAX_ERROR_BYTES) {
		throw new ProtocolViolation(`the response's error is longer than ${MAX_ERROR_BYTES} bytes`);
	}
	return { error };
}

/**
 * Reads a request's line: an object with `method`; `params`, if present, is an object.
 * @returns the method as sent: the engine answers unknown ones
 * @throws ProtocolViolation
 */
export function readRequest(line: Uint8Array): { method: string; params: unknown } {
	const { method, params = {} } = readObject(line, "the request");
	if (typeof method !== "string") throw new ProtocolViolation("the request must have a method");
	return { method, params };
}

function readObject(line: Uint8Array, what: string): Fields {
	let value: unknown;
	try {
		value = parseJson(line);
	} catch (error) {
		if (error instanceof JsonError) throw new ProtocolViolation(`${what} ${error.message}`);
		throw error;
	}
	if (!isObject(value)) throw new ProtocolViolation(`${what} must be a JSON object`);
	return value;
}

/**
 * Refuses values that do not survive: UTF-8 has no half of a surrogate pair, a number too large for a double is no number any more, and a member
 * named `__proto__` replaces the prototype of the object that it is copied into.
 */
function refuseUnportable(value: unknown): void {
	if (typeof value === "string" && !value.isWellFormed()) {
		throw new ProtocolViolation("the response has half a surrogate pair in a string");
	}
	if (typeof value === "number" && !Number.isFinite(value)) {
		throw new ProtocolViolation("the response has a number that is too large");
	}
	if (typeof value !== "object" || value === null) return;
	for (const name of Object.keys(value)) {
		if (name === "__proto__") throw new ProtocolViolation("the response has a member named __proto__");
		refuseUnportable(name);
	}
	for (const member of Object.values(value)) refuseUnportable(member);
}

/** Tells whether a value is a JSON object. */
export function isObject(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
