import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { type OpenApi, openApi, type Route, routesOf, type Schema } from "../harness/openapi.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let document: OpenApi;
let routes: Route[];

before(async () => {
	server = await startServer();
	document = await openApi(api(server));
	routes = routesOf(document);
});
after(() => server.close());

function routeNamed(name: string): Route {
	const route = routes.find(({ method, path }) => `${method} ${path}` === name);
	assert.ok(route, name);
	return route;
}

/** Yields every schema in the document with the name of its field. */
function* schemas(value: unknown, field = ""): Generator<{ field: string; schema: Schema }> {
	if (typeof value !== "object" || value === null) return;
	yield { field, schema: value as Schema };
	for (const [name, inner] of Object.entries(value)) yield* schemas(inner, name);
}

test("health that is unhealthy answers health's own body", () => {
	const { responses } = routeNamed("GET /api/v1/health").operation;
	assert.deepEqual(responses[503]?.content, responses[200]?.content);
	assert.match(responses[503]?.description ?? "", /^unhealthy/);
});

test("a second status of success is described", () => {
	const lease = routeNamed("DELETE /api/v1/realms/{slug}/leases/{id}").operation.responses;
	assert.deepEqual(lease[202]?.content, lease[200]?.content);
	for (const name of ["GET /api/v1/auth/oidc/{provider}/callback", "POST /api/v1/auth/saml/{provider}/acs"]) {
		const { responses } = routeNamed(name).operation;
		assert.ok(responses[302]?.headers?.Location, name);
		assert.equal(responses[302]?.content, undefined, name);
	}
});

test("every public route that asks who somebody is describes its 401", () => {
	const asking = /^POST .*\/(register|login|acs|token)$|\/callback$/;
	const names = routes.map(({ method, path }) => `${method} ${path}`);
	const found = names.filter((name) => asking.test(name));
	assert.ok(found.length >= 6, found.join());
	for (const name of found) {
		const answer = routeNamed(name).operation.responses[401];
		assert.ok(answer?.headers?.["WWW-Authenticate"], name);
	}
});

test("a whole number is an integer with a smallest and a largest value", () => {
	let count = 0;
	for (const { field, schema } of schemas(document)) {
		assert.notEqual(schema.type, "number", field);
		if (schema.type !== "integer" || schema.enum !== undefined) continue;
		count++;
		assert.ok(schema.minimum !== undefined && schema.maximum !== undefined, `${field}: ${JSON.stringify(schema)}`);
	}
	assert.ok(count > 20, "the document has whole numbers");
	const limits = routes.flatMap(({ operation }) => (operation.parameters ?? []).filter(({ name }) => name === "limit"));
	assert.ok(limits.length > 5);
	for (const { schema } of limits) {
		const { minimum, maximum, type } = schema ?? {};
		assert.deepEqual({ minimum, maximum, type }, { minimum: 1, maximum: 100, type: "integer" });
	}
});

test("a time says that it is one, and a password how long it may be", () => {
	const isText = (schema: Schema) => schema.type === "string";
	for (const { field, schema } of schemas(document)) {
		if (/^(timestamp|since|until|\w+_at)$/.test(field) && isText(schema))
			assert.equal(schema.format, "date-time", field);
	}
	const passwords = [...schemas(document)].filter(({ schema }) => schema.format === "password");
	assert.deepEqual(new Set(passwords.map(({ field }) => field)), new Set(["password", "new_password"]));
	for (const { schema } of passwords) {
		const { minLength, maxLength } = schema as { minLength?: number; maxLength?: number };
		assert.deepEqual([minLength, maxLength], [12, 1024]);
	}
});

test("the headers that a caller can rely on are described where they come", () => {
	for (const { method, path, operation } of routes) {
		for (const [status, { headers }] of Object.entries(operation.responses)) {
			assert.ok(headers?.["X-Request-Id"], `${method} ${path} ${status}`);
			if (status === "429" || status === "503") assert.ok(headers["Retry-After"] ?? path.endsWith("/health"), path);
		}
	}
	const generate = routeNamed("POST /api/v1/realms/{slug}/engines/{type}/generate").operation.responses[200];
	assert.ok(generate?.headers?.["X-Lease-Id"]);
	for (const path of ["/api/v1/realms/{slug}/secrets/{key}", "/api/v1/eso/{realm}/{key}"]) {
		assert.ok(routeNamed(`GET ${path}`).operation.responses[200]?.headers?.["X-Secret-Expired"], path);
	}
});
