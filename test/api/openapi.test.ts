import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { type OpenApi, openApi, problems, resolve, routesOf } from "../harness/openapi.ts";
import { requestTo } from "../harness/requests.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, routeName } from "../spec/endpoints.ts";

/** The closed list of codes that the routes of the server can answer. Design: §7. */
const CODES = [
	...["bad_request", "invalid_json", "validation_failed", "missing_field", "password_too_short", "invalid_slug"],
	...["invalid_environment", "invalid_ciphertext", "invalid_limit", "invalid_cursor", "invalid_scope", "invalid_role"],
	...["unsupported_operation", "unauthorized", "invalid_credentials", "forbidden", "insufficient_scope"],
	...["registration_disabled", "registration_admin_only", "wrong_password", "not_found", "conflict"],
	...["invalid_ttl", "engine_error", "engine_unavailable", "lease_limit_reached"],
	...["payload_too_large", "rate_limited", "internal_error", "unhealthy"],
];

let engines: MemoEngines;
let server: Server;
let world: World;
let document: OpenApi;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder } });
	world = await createWorld(api(server));
	document = await openApi(world.api);
});
after(async () => {
	await server.close();
	await engines.remove();
});

/** Yields every object in the document with its path. */
function* objects(value: unknown, at = "#"): Generator<{ at: string; object: Record<string, unknown> }> {
	if (typeof value !== "object" || value === null) return;
	yield { at, object: value as Record<string, unknown> };
	for (const [name, inner] of Object.entries(value)) yield* objects(inner, `${at}/${name}`);
}

test("the document is OpenAPI 3.1 with a title and the version of the server", async () => {
	assert.match(document.openapi, /^3\.1\.\d+$/);
	assert.match(document.info.title, /\S/);
	const { body } = await world.api.get<{ version: string }>("/health");
	assert.equal(document.info.version, body.version);
});

test("every path begins with a slash and declares its parameters", () => {
	for (const { method, path, operation } of routesOf(document)) {
		assert.ok(path.startsWith("/"), path);
		const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
		const declared = (operation.parameters ?? []).filter((one) => one.in === "path");
		assert.deepEqual(new Set(declared.map(({ name }) => name)), new Set(inPath), `${method} ${path}`);
		assert.ok(
			declared.every(({ required }) => required === true),
			`${method} ${path}`,
		);
	}
});

test("every operation has an id of its own and describes each answer", () => {
	const routes = routesOf(document);
	assert.equal(new Set(routes.map(({ operation }) => operation.operationId)).size, routes.length);
	for (const { method, path, operation } of routes) {
		for (const [status, answer] of Object.entries(operation.responses)) {
			assert.match(status, /^(?:[1-5]\d\d|default)$/);
			assert.match(answer.description ?? "", /\S/, `${method} ${path} ${status}`);
		}
	}
});

test("every operation belongs to a noun, and every noun and parameter says what it is", () => {
	const nouns = new Set(document.tags?.map(({ name }) => name));
	for (const { method, path, operation } of routesOf(document)) {
		assert.ok(operation.tags?.length === 1 && nouns.has(operation.tags[0] ?? ""), `${method} ${path}`);
		for (const { name, description = "" } of operation.parameters ?? [])
			assert.match(description, /\S/, `${method} ${path}: describe ${name} in http/openapi-words.ts`);
	}
	for (const { name, description = "" } of document.tags ?? [])
		assert.match(
			description,
			/\S/,
			`describe the noun ${name} in http/openapi-tags.ts, or name the noun of its paths there`,
		);
});

test("an example is what its schema allows", () => {
	for (const { at, object } of objects(document)) {
		const { examples } = object;
		if (!Array.isArray(examples)) continue;
		for (const example of examples) assert.deepEqual(problems(document, object, example), [], at);
	}
});

test("every reference leads somewhere", () => {
	for (const { object } of objects(document)) {
		if (typeof object.$ref === "string") assert.doesNotThrow(() => resolve(document, String(object.$ref)));
	}
});

test("private operations ask for a bearer token and public ones for nothing", () => {
	const schemes = Object.entries(document.components?.securitySchemes ?? {});
	const bearer = schemes.find(([, scheme]) => "scheme" in scheme && scheme.scheme === "bearer")?.[0];
	assert.ok(bearer, "there is a bearer scheme");
	for (const route of routesOf(document)) {
		const endpoint = ENDPOINTS.find((one) => routeName(one) === routeName(route));
		const security = route.operation.security ?? document.security ?? [];
		const needs: boolean =
			security.some((one) => bearer in one) && !security.some((one) => Object.keys(one).length === 0);
		assert.equal(needs, endpoint?.auth !== "none", routeName(route));
	}
});

test("every code of an error is listed", () => {
	const enums = [...objects(document)].map(({ object }) => object.enum).filter(Array.isArray);
	const listed = enums.find((one) => one.includes("not_found"));
	assert.ok(listed, "the codes are an enum");
	assert.deepEqual(
		CODES.filter((code) => !listed.includes(code)),
		[],
	);
});

const NO_JSON = ["/metrics", "/api/v1/backups/{name}"];

for (const endpoint of ENDPOINTS) {
	const { name } = endpoint;
	test(`${name} answers what the document says`, async () => {
		const isOfInstance = endpoint.auth === "instance";
		const person = isOfInstance ? world.people.instance : world.people.admin;
		const prepared = await requestTo(name)(world, { person, scopes: "read" });
		// Logging out ends its session, and the new password differs from that of the requests: both use tokens that no other request needs.
		const raw = prepared.body && JSON.stringify(prepared.body);
		const { stranger, viewer } = world.tokens;
		const apart = { "/logout": stranger.session, "/password": viewer.session };
		const token = Object.entries(apart).find(([end]) => name.endsWith(end))?.[1] ?? person.token;
		const answer = await world.api.send(endpoint.method, prepared.path, { token, ...(raw && { raw }) });
		const status = WITHOUT_PROVIDER[name] ?? endpoint.success;
		assert.equal(answer.status, status, answer.text);
		const operation = routesOf(document).find((route) => routeName(route) === routeName(endpoint))?.operation;
		const schema = operation?.responses[status]?.content?.["application/json"]?.schema;
		if (NO_JSON.includes(endpoint.path)) return;
		assert.ok(schema, "the answer has a schema");
		assert.deepEqual(problems(document, schema, answer.body), []);
	});
}
