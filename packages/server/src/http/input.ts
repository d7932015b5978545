import type { IncomingMessage } from "node:http";
import { parseJsonInSteps as inSteps, JsonError, parseJson as parseStrictly } from "@svc/protocol";
import * as v from "valibot";
import { AppError } from "../errors.ts";
import type { CallerKeys } from "../fair-queue.ts";
import { codeOf } from "../messages.ts";
import { type Hold, MAX_BODY_BYTES, readBody } from "./bodies.ts";
import { Scheduler } from "./scheduler.ts";

/** Size from which parsing a body may take milliseconds: it is spread over several turns. */
const LARGE_BYTES = 64 * 1024;
const scheduler = new Scheduler();

/** Largest form, in bytes: an identity provider's answer. */
const MAX_FORM_BYTES = 256 * 1024;

const [PLUS, SPACE] = [0x2b, 0x20];

/** Most fields of a form: the comparison of two environments has up to 1,000 boxes. */
const MAX_FORM_FIELDS = 1024;

/**
 * Reads a request's JSON body.
 * @param keys of the sender, for a body whose parsing takes several turns
 * @throws AppError payload_too_large, overloaded, bad_request (another content type), invalid_json
 */
export async function readJson(incoming: IncomingMessage, hold: Hold, keys: CallerKeys): Promise<unknown> {
	const type = incoming.headers["content-type"];
	if (type !== undefined && !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
		throw new AppError("bad_request", "the body must be JSON: send it with the header Content-Type: application/json");
	}
	return readBody(incoming, hold, MAX_BODY_BYTES, (bytes) =>
		bytes.length < LARGE_BYTES ? parseJson(bytes) : parseInTurns(bytes, keys),
	);
}

async function parseInTurns(bytes: Buffer, keys: CallerKeys): Promise<unknown> {
	const steps = parseJsonInSteps(bytes);
	for (;;) {
		const { done, value } = await scheduler.step(keys, async () => steps.next());
		if (done) return value;
	}
}

/**
 * Parses a request's body: valid UTF-8, no repeated member names, bounded depth and width.
 * @throws AppError invalid_json; the message never quotes the text
 */
export function parseJson(bytes: Uint8Array): unknown {
	try {
		return parseStrictly(bytes);
	} catch (error) {
		throw asAppError(error);
	}
}

/** Parses in steps of a few milliseconds, and returns the body's value. @throws AppError invalid_json */
function* parseJsonInSteps(bytes: Uint8Array): Generator<void, unknown> {
	try {
		return yield* inSteps(bytes);
	} catch (error) {
		throw asAppError(error);
	}
}

function asAppError(error: unknown): unknown {
	return error instanceof JsonError ? new AppError("invalid_json", `the body ${error.message}`) : error;
}

/**
 * Reads a form that a browser posted.
 * @param most its largest size, in bytes
 * @throws AppError payload_too_large, overloaded, bad_request (another content type, too many fields, one given twice)
 */
export async function readForm(
	incoming: IncomingMessage,
	hold: Hold,
	most: number = MAX_FORM_BYTES,
): Promise<Record<string, string>> {
	if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(incoming.headers["content-type"] ?? "")) {
		throw new AppError("bad_request", "the body must be a form: application/x-www-form-urlencoded");
	}
	const form: Record<string, string> = Object.create(null);
	const text = await readBody(incoming, hold, most, (bytes) => withSpaces(bytes).toString());
	// Each one costs far more memory than its two bytes.
	const fields = text.split("&", MAX_FORM_FIELDS + 1).length;
	if (fields > MAX_FORM_FIELDS) throw new AppError("bad_request", `a form has at most ${MAX_FORM_FIELDS} fields`);
	for (const [name, value] of new URLSearchParams(text)) {
		if (name in form) throw new AppError("bad_request", "a field of the form is given twice");
		form[name] = value;
	}
	return form;
}

/** Replaces plus signs with spaces in a form's bytes: URLSearchParams takes 70 ms for a million of them. */
function withSpaces(bytes: Buffer): Buffer {
	for (let at = 0; at < bytes.length; at++) if (bytes[at] === PLUS) bytes[at] = SPACE;
	return bytes;
}

/**
 * Segments `.` and `..` in any spelling, and backslashes. A URL parser resolves them before the router sees the path:
 * DELETE …/secrets/../../other would delete a realm. And U+0000: nothing has it in its name, and PostgreSQL refuses it.
 */
const ODD_PATH = /^[^?]*(?:\\|%00|\/(?:\.|%2e){1,2}(?:[/?]|$))/i;
/** Every odd path has one of these, and few others do: to look for them takes a tenth of the time. */
const PERHAPS_ODD = /[\\%]|\/\./;

/** Tells whether a request's target has a path that a URL parser would resolve, or a name that nothing has. */
export function isOdd(target: string): boolean {
	return PERHAPS_ODD.test(target) && ODD_PATH.test(target);
}

/**
 * Splits the query of a request's target, and refuses a parameter given twice. (URLSearchParams takes 4 µs for `env=prod`,
 * a tenth of the whole request.)
 * @throws AppError bad_request
 */
export function parseQuery(target: string): Record<string, string> {
	const query: Record<string, string> = Object.create(null);
	const start = target.indexOf("?");
	if (start < 0) return query;
	for (const part of target.slice(start + 1).split("&")) {
		if (part === "") continue;
		const equals = part.indexOf("=");
		const name = decode(equals < 0 ? part : part.slice(0, equals));
		if (name in query) throw new AppError("bad_request", "a query parameter is given twice");
		query[name] = equals < 0 ? "" : decode(part.slice(equals + 1));
	}
	return query;
}

/** Reads and checks the query of a request's target. @throws AppError bad_request, and as `check` */
export type QueryReader = (target: string) => Record<string, unknown>;

const NO_QUERY = Object.freeze({});

/** Makes the reader of a route's queries. Most requests have none: their parameters, all by default, are computed once. */
export function createQueryReader(schema: ObjectSchema | undefined): QueryReader {
	if (schema === undefined) return () => NO_QUERY;
	let defaults: Record<string, unknown> | undefined;
	return (target) => {
		if (target.includes("?")) return check(schema, parseQuery(target));
		defaults ??= Object.freeze(check(schema, {}));
		return defaults;
	};
}

/** Leaves an invalid percent-encoding as it is: it then matches no allowed value. */
function decode(text: string): string {
	if (!/[%+]/.test(text)) return text;
	try {
		return decodeURIComponent(text.replaceAll("+", " "));
	} catch {
		return text;
	}
}

/** Any schema of an object. */
export type ObjectSchema = v.GenericSchema<unknown, Record<string, unknown>>;

/**
 * Checks input against a schema. The error names the first wrong field and what it must be, never what it was.
 * @throws AppError with the code that the schema's own message carries, else missing_field or validation_failed
 */
export function check<Schema extends v.GenericSchema>(schema: Schema, input: unknown): v.InferOutput<Schema> {
	if (typeof input !== "object" || input === null || Array.isArray(input)) {
		throw new AppError("validation_failed", "the body must be a JSON object");
	}
	const result = v.safeParse(schema, input, { abortEarly: true });
	if (result.success) return result.output;
	throw refusal(result.issues[0]);
}

function refusal(issue: v.BaseIssue<unknown>): AppError {
	const names = issue.path?.map((step) => String(step.key)) ?? ["body"];
	const field = names.join(".");
	const code = codeOf(issue.message);
	// Its name came from the caller.
	if (issue.expected === "never") {
		const known = code === undefined ? `${names.slice(0, -1).join(".")} has an unknown field` : issue.message;
		return new AppError("validation_failed", known);
	}
	if (code === "missing_field") return new AppError("missing_field", `${field} is required`);
	if (code !== undefined && issue.kind === "validation") return new AppError(code, issue.message);
	const isMissing = issue.input === undefined || issue.input === null;
	if (isMissing) return new AppError("missing_field", `${field} is required`);
	if (code !== undefined) return new AppError(code, issue.message);
	return new AppError("validation_failed", `${field} must be ${withArticle(issue.type)}`);
}

const KINDS: Record<string, string> = {
	string: "a string",
	number: "a number",
	boolean: "true or false",
	safe_integer: "a whole number",
	min_value: "at least 1",
	array: "a list",
};

function withArticle(type: string): string {
	return KINDS[type] ?? "of another type";
}
