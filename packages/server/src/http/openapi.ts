import { answerComponents, answersOf } from "./openapi-answers.ts";
import { schemaOf } from "./openapi-schema.ts";
import { tagOf, tagsOf } from "./openapi-tags.ts";
import { aboutParameter, withExamples } from "./openapi-words.ts";
import type { Route } from "./route.ts";

const DESCRIPTION = `Secrets management server: secrets per realm and environment, roles, tokens, credentials that end by themselves, audit.

A token comes from \`POST /api/v1/auth/login\` (a session) or \`POST /api/v1/auth/tokens\` (for programs, with scopes) and goes into the header \`Authorization: Bearer …\`.
Errors are one object with a stable code and a sentence. Lists come in pages: \`pagination.next_cursor\` leads to the next one.`;

/**
 * Makes the reference as OpenAPI 3.1 from the declarations that also mount the routes and check their input.
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
					description: "An API token (svc_…) or the session token from login.",
				},
			},
			...answerComponents(routes),
		},
	};
}

function operation(route: Route): object {
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
		responses: answersOf(route),
	};
}

function operationId(route: Route): string {
	const words = route.path.replace(/^\/(api\/v1\/)?/, "").split("/");
	return [route.method.toLowerCase(), ...words.map((word) => word.replace(/[^a-zA-Z]/g, ""))].join("_");
}

const bodyType = (route: Route) => (route.isForm ? "application/x-www-form-urlencoded" : "application/json");

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
