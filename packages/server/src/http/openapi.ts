import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { AppError, type ErrorCode, STATUS } from "../errors.ts";
import { tagOf, tagsOf } from "./openapi-tags.ts";
import { aboutParameter, withExamples } from "./openapi-words.ts";
import type { Route } from "./route.ts";

/** Codes that a route may answer without naming them. */
const ALWAYS: readonly ErrorCode[] = ["bad_request", "internal_error", "unhealthy"];
const WITH_TOKEN: readonly ErrorCode[] = ["unauthorized", "forbidden", "insufficient_scope"];
const WITH_BODY: readonly ErrorCode[] = ["invalid_json", "validation_failed", "missing_field", "payload_too_large"];

const DESCRIPTION = `Secrets management server: secrets per realm and environment, roles, tokens, credentials that end by themselves, audit.

A token comes from \`POST /api/v1/auth/login\` (a session) or \`POST /api/v1/auth/tokens\` (for programs, with scopes) and goes into the header \`Authorization: Bearer …\`.
Errors are one object with a stable code and a sentence. Lists come in pages: \`pagination.next_cursor\` leads to the next one.`;

/**
 * The reference as OpenAPI 3.1, made from the declarations that the routes are mounted and their input is checked with.
 * @param version of the server
 */
export function openApiDocument(routes: readonly Route[], version: string): object {
	const paths: Record<string, Record<string, object>> = {};
	for (const route of routes) {
		paths[route.path] ??= {};
		Object.assign(paths[route.path] ?? {}, { [route.method.toLowerCase()]: operation(route) });
	}
	return {
		openapi: "3.1.0",
		info: {
			title: "svc",
			version,
			description: DESCRIPTION,
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		servers: [{ url: "/" }],
		security: [{ bearer: [] }],
		tags: tagsOf(routes.map(({ path }) => path)),
		paths,
		components: {
			securitySchemes: {
				bearer: {
					type: "http",
					scheme: "bearer",
					description: "An API token (svc_…) or the session token that login answers.",
				},
			},
			schemas: { Error: errorSchema() },
		},
	};
}

function operation(route: Route): object {
	const codes = [
		...ALWAYS,
		...(route.isPublic ? [] : WITH_TOKEN),
		...(route.body ? WITH_BODY : []),
		...(route.errors ?? []),
	];
	return {
		tags: [tagOf(route.path)],
		summary: route.summary,
		operationId: operationId(route),
		...(route.isPublic ? { security: [] } : {}),
		parameters: [...pathParameters(route), ...queryParameters(route)],
		...(route.body === undefined
			? {}
			: {
					requestBody: {
						required: true,
						content: {
							[bodyType(route)]: { schema: withExamples(route.path, { type: "object", ...schemaOf(route.body) }) },
						},
					},
				}),
		responses: {
			[route.status]: {
				description: route.summary,
				...(route.status === 302 ? REDIRECT : { content: contentOf(route) }),
			},
			...errorResponses(codes, route),
		},
	};
}

function operationId(route: Route): string {
	const words = route.path.replace(/^\/(api\/v1\/)?/, "").split("/");
	return [route.method.toLowerCase(), ...words.map((word) => word.replace(/[^a-zA-Z]/g, ""))].join("_");
}

/** What a browser is sent elsewhere with. */
const REDIRECT = { headers: { Location: { required: true, schema: { type: "string", format: "uri" } } } };

const bodyType = (route: Route) => (route.isForm ? "application/x-www-form-urlencoded" : "application/json");

function contentOf(route: Route): object {
	if (route.answer.type === "string") return { [route.media ?? "text/plain"]: { schema: { type: "string" } } };
	return { "application/json": { schema: schemaOf(route.answer) } };
}

/** The shape that is sent, before defaults and transformations of our own. */
function schemaOf(schema: v.GenericSchema): { properties?: Record<string, object>; required?: string[] } {
	const { $schema: _, ...rest } = toJsonSchema(schema as never, { typeMode: "input", errorMode: "ignore" });
	return rest as { properties?: Record<string, object>; required?: string[] };
}

function pathParameters(route: Route): object[] {
	const names = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
	return names.map((name = "") => ({
		name,
		in: "path",
		required: true,
		...aboutParameter(name, "path"),
		schema: { type: "string" },
	}));
}

function queryParameters(route: Route): object[] {
	if (route.query === undefined) return [];
	const { properties = {}, required = [] } = schemaOf(route.query);
	return Object.entries(properties).map(([name, schema]) => ({
		name,
		in: "query",
		required: required.includes(name),
		...aboutParameter(name, "query"),
		schema,
	}));
}

function errorResponses(codes: readonly ErrorCode[], route: Route): Record<string, object> {
	const byStatus = Map.groupBy(new Set(codes), (code) => STATUS[code]);
	const entries = [...byStatus]
		.sort(([a], [b]) => a - b)
		.map(([status, group]) => {
			const isOwn = status === 404 && route.notFound !== undefined;
			const schema = isOwn
				? { type: "object", properties: { error: { type: "string" } }, required: ["error"] }
				: { $ref: "#/components/schemas/Error" };
			return [status, { description: group.join(", "), content: { "application/json": { schema } } }];
		});
	return Object.fromEntries(entries);
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
