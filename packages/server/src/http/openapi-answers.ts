import { AppError, type ErrorCode, STATUS } from "../errors.ts";
import { schemaOf } from "./openapi-schema.ts";
import type { Route } from "./route.ts";

/** Codes that a route may answer without naming them. */
const ALWAYS: readonly ErrorCode[] = [
	"bad_request",
	"internal_error",
	"unhealthy",
	"store_unavailable",
	"database_altered",
	"overloaded",
];
const WITH_TOKEN: readonly ErrorCode[] = ["unauthorized", "forbidden", "insufficient_scope"];
const WITH_BODY: readonly ErrorCode[] = ["invalid_json", "validation_failed", "missing_field", "payload_too_large"];

/** Headers of answers. Those that are not `required` come only with some answers. */
const HEADERS = {
	"X-Request-Id": {
		required: true,
		description: "Id of this request in the server's log and in the audit log",
		schema: { type: "string" },
	},
	"X-Lease-Id": {
		description: "Id of the credential's lease; absent when there is nothing to revoke",
		schema: { type: "string", format: "uuid" },
	},
	"X-Secret-Expired": { description: "The secret's expires_at has passed", schema: { type: "string", const: "true" } },
	"Retry-After": {
		description: "Seconds to wait before the next attempt",
		schema: { type: "integer", minimum: 0, maximum: 86_400 },
	},
	"WWW-Authenticate": { description: "How to authenticate", schema: { type: "string", const: "Bearer" } },
	Location: {
		required: true,
		description: "Address to which the browser is redirected",
		schema: { type: "string", format: "uri" },
	},
} as const;

type Header = keyof typeof HEADERS;

/** Components that the answers of these routes refer to. Each refusal is described once: most routes share theirs, and the document is read whole. */
export function answerComponents(routes: readonly Route[]): object {
	const refusals = routes.flatMap((route) =>
		refusedStatuses(route).map((status) => [refusalName(route, status), refusal(route, status)] as const),
	);
	return { headers: HEADERS, responses: Object.fromEntries(refusals), schemas: { Error: errorSchema() } };
}

/** Every answer of a route, by status. */
export function answersOf(route: Route): Record<string, object> {
	const success = [route.status, ...(route.other === undefined ? [] : [route.other.status])];
	return {
		...errorAnswers(route),
		...Object.fromEntries(success.map((status) => [status, successAnswer(route, status)])),
	};
}

function successAnswer(route: Route, status: number): object {
	// An error status with the body of a success: its description names the code, as every refusal's does.
	const description = status >= 400 ? codesWith(route, status).join(", ") : route.summary;
	if (status === 302) return { description, headers: headersOf(["Location"]) };
	return { description, headers: headersOf(route.headers ?? []), content: contentOf(route) };
}

function headersOf(names: readonly Header[]): object {
	return Object.fromEntries(
		(["X-Request-Id", ...names] as const).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
	);
}

function contentOf(route: Route): object {
	if (route.answer.type === "string") return { [route.media ?? "text/plain"]: { schema: { type: "string" } } };
	return { "application/json": { schema: schemaOf(route.answer) } };
}

function codesOf(route: Route): ErrorCode[] {
	return [...ALWAYS, ...(route.isPublic ? [] : WITH_TOKEN), ...(route.body ? WITH_BODY : []), ...(route.errors ?? [])];
}

function codesWith(route: Route, status: number): ErrorCode[] {
	return [...new Set(codesOf(route))].filter((code) => STATUS[code] === status);
}

function errorAnswers(route: Route): Record<string, object> {
	const reference = (status: number) => ({ $ref: `#/components/responses/${refusalName(route, status)}` });
	return Object.fromEntries(refusedStatuses(route).map((status) => [status, reference(status)]));
}

function refusedStatuses(route: Route): number[] {
	return [...new Set(codesOf(route).map((code) => STATUS[code]))].sort((a, b) => a - b);
}

const isPlain = (route: Route, status: number) => status === 404 && route.notFound !== undefined;

/** Name of a refusal's component: it says all that the refusal does. */
function refusalName(route: Route, status: number): string {
	return [...codesWith(route, status), ...(isPlain(route, status) ? ["plain"] : [])].join(".");
}

function refusal(route: Route, status: number): object {
	const schema = isPlain(route, status)
		? { type: "object", properties: { error: { type: "string" } }, required: ["error"] }
		: { $ref: "#/components/schemas/Error" };
	const headers: Record<number, readonly Header[]> = {
		401: ["WWW-Authenticate"],
		429: ["Retry-After"],
		503: ["Retry-After"],
	};
	return {
		description: codesWith(route, status).join(", "),
		headers: headersOf(headers[status] ?? []),
		content: { "application/json": { schema } },
	};
}

function errorSchema(): object {
	const { error } = new AppError("not_found", "secret not found").toJSON();
	return {
		type: "object",
		required: ["error"],
		properties: {
			error: {
				type: "object",
				required: ["code", "message", "status"],
				properties: {
					code: { type: "string", enum: Object.keys(STATUS), examples: [error.code] },
					message: { type: "string", examples: [error.message] },
					status: { type: "integer", enum: [...new Set(Object.values(STATUS))], examples: [error.status] },
				},
			},
		},
	};
}
