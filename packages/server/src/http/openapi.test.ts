import assert from "node:assert/strict";
import { ServerResponse } from "node:http";
import { test } from "node:test";
import type { Hono } from "hono";
import { readConfig } from "../config.ts";
import { STATUS } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { anyConnections } from "../testing/connections.ts";
import { createTestLog } from "../testing/log.ts";
import { allRoutes } from "../testing/routes.ts";
import { createTestSystem } from "../testing/system.ts";
import { wireApp } from "../wiring/app.ts";
import { openApiDocument } from "./openapi.ts";

interface Operation {
	operationId: string;
	summary: string;
	security?: object[];
	parameters: { name: string; in: string; required: boolean; schema: object }[];
	requestBody?: { required: boolean; content: Record<string, { schema: Record<string, unknown> }> };
	responses: Record<
		string,
		{
			$ref?: string;
			description: string;
			content?: Record<string, { schema: Record<string, unknown> }>;
			headers?: object;
		}
	>;
}

interface Document {
	openapi: string;
	paths: Record<string, Record<string, Operation>>;
	components: { schemas: Record<string, object>; responses: Operation["responses"]; securitySchemes: object };
}

const routes = allRoutes();
const document = openApiDocument(routes, "1.2.3") as Document;
/** The paths with refusals in place of references to them. */
const paths: Document["paths"] = structuredClone(document.paths);
for (const { responses } of Object.values(paths).flatMap((byMethod) => Object.values(byMethod))) {
	for (const [status, { $ref }] of Object.entries(responses)) {
		if ($ref !== undefined) responses[status] = document.components.responses[$ref.split("/").at(-1) ?? ""] as never;
	}
}
const operations = Object.entries(paths).flatMap(([path, byMethod]) =>
	Object.entries(byMethod).map(([method, operation]) => ({ path, method, operation })),
);
const operationOf = (method: string, path: string) =>
	paths[path]?.[method.toLowerCase()] ?? assert.fail(`no ${method} ${path}`);

function* nodesOf(value: unknown): Generator<Record<string, unknown>> {
	if (typeof value !== "object" || value === null) return;
	if (!Array.isArray(value)) yield value as Record<string, unknown>;
	for (const inner of Object.values(value)) yield* nodesOf(inner);
}

test("every route has an operation, and every operation a route", () => {
	const declared = routes.map((route) => `${route.method.toLowerCase()} ${route.path}`);
	assert.equal(new Set(declared).size, declared.length, "no route is declared twice");
	assert.deepEqual(new Set(operations.map(({ path, method }) => `${method} ${path}`)), new Set(declared));
});

test("the server answers the document of exactly these routes", async () => {
	const { app } = wireApp({
		config: readConfig({}, import.meta.dirname),
		store: {} as never,
		keyring: {} as never,
		master: {} as never,
		system: createTestSystem(),
		era: "",
		log: createTestLog().log,
		build: { version: "1.2.3", commit: "", built: "" },
		engines: { watchLag: () => undefined, host: { limits: [] } } as never,
		backups: {} as never,
		renewal: {} as never,
		setup_code: {} as never,
		limits: createLimits(),
		connections: anyConnections(),
		protocols: {} as never,
		address: () => "https://localhost",
		isStopping: () => false,
		isAltered: () => false,
		isSound: () => true,
		isComplete: async () => true,
	});
	const incoming = { headers: {}, socket: { remoteAddress: "127.0.0.1" }, url: "/api/v1/openapi.json" };
	const response = await (app as Hono).fetch(new Request("http://localhost/api/v1/openapi.json"), {
		incoming,
		outgoing: new ServerResponse(incoming as never),
	});
	assert.equal(response.status, 200);
	assert.deepEqual(await response.json(), JSON.parse(JSON.stringify(document)));
});

test("every operation has an id of its own, made of letters, and a summary without a full stop", () => {
	const ids = operations.map(({ operation }) => operation.operationId);
	assert.deepEqual(
		ids.filter((id, index) => ids.indexOf(id) !== index),
		[],
	);
	for (const { operation } of operations) {
		assert.match(operation.operationId, /^[a-z]+(_[a-zA-Z]+)+$/);
		assert.match(operation.summary, /^[A-Z].*[^.]$/);
	}
});

test("every reference inside the document leads somewhere", () => {
	let found = 0;
	for (const node of nodesOf(document)) {
		if (typeof node.$ref !== "string") continue;
		const target = node.$ref
			.replace(/^#\//, "")
			.split("/")
			.reduce((at: unknown, name) => (at as Record<string, unknown> | undefined)?.[name], document);
		assert.ok(typeof target === "object", node.$ref);
		found++;
	}
	assert.ok(found > operations.length);
});

test("each set of refusals is described once, with all its codes", () => {
	const { responses } = document.components;
	const texts = Object.values(responses).map((answer) => JSON.stringify(answer));
	assert.equal(new Set(texts).size, texts.length);
	for (const [name, { description }] of Object.entries(responses)) {
		assert.match(name, /^[a-zA-Z0-9._-]+$/);
		assert.equal(name.replace(/\.plain$/, ""), description.replaceAll(", ", "."));
	}
	const described = Object.values(document.paths).flatMap((byMethod) =>
		Object.values(byMethod).flatMap((operation) => Object.entries(operation.responses)),
	);
	// Health's body says what is wrong, so its 503 is an answer of its own.
	const inPlace = described.filter(([status, { $ref }]) => Number(status) >= 400 && $ref === undefined);
	assert.equal(inPlace.length, 1);
});

test("every part of a path in braces is a parameter of it, required, and no other is", () => {
	for (const { path, operation } of operations) {
		const parts = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
		const declared = operation.parameters.filter((parameter) => parameter.in === "path");
		assert.deepEqual(
			declared.map((parameter) => parameter.name),
			parts,
			path,
		);
		assert.ok(declared.every((parameter) => parameter.required));
	}
});

test("an operation asks for a token unless its route is public", () => {
	for (const route of routes) {
		const { security, responses } = operationOf(route.method, route.path);
		assert.deepEqual(security, route.isPublic ? [] : undefined, route.path);
		const hasUnauthorized = /(^|, )unauthorized/.test(responses["401"]?.description ?? "");
		// A refused login is unauthorized, too.
		assert.equal(hasUnauthorized, !route.isPublic || route.errors?.includes("unauthorized") === true, route.path);
	}
});

test("every status has a description, and those of errors name codes of that status only", () => {
	const codes = new Map(Object.entries(STATUS));
	for (const { path, operation } of operations) {
		for (const [status, { description, content, headers }] of Object.entries(operation.responses)) {
			assert.ok(Object.keys((status === "302" ? headers : content) ?? {}).length > 0, path);
			if (Number(status) < 400) continue;
			for (const code of description.split(", "))
				assert.equal(codes.get(code as never), Number(status), `${path} ${code}`);
		}
	}
});

test("success and input are described by the schemas that the route declares", () => {
	for (const route of routes) {
		const { responses, requestBody, parameters } = operationOf(route.method, route.path);
		assert.ok(responses[String(route.status)], route.path);
		assert.equal(requestBody !== undefined, route.body !== undefined, route.path);
		assert.equal(
			parameters.some((parameter) => parameter.in === "query"),
			route.query !== undefined,
			route.path,
		);
		for (const schema of Object.values(requestBody?.content ?? {})) assert.equal(schema.schema.type, "object");
	}
});

test("fields that a body must have are the required ones of its schema", () => {
	const requiredOf = (method: string, path: string) =>
		operationOf(method, path).requestBody?.content["application/json"]?.schema.required;
	assert.deepEqual(requiredOf("POST", "/api/v1/realms/{slug}/secrets"), ["key", "value"]);
	assert.deepEqual(requiredOf("POST", "/api/v1/auth/register"), ["email", "password"]);
	assert.deepEqual(requiredOf("POST", "/api/v1/auth/tokens"), ["name"]);
});

test("a secret that is not there is a plain string for operators, and the error object elsewhere", () => {
	const schemaOf = (path: string) => operationOf("GET", path).responses["404"]?.content?.["application/json"]?.schema;
	assert.deepEqual(schemaOf("/api/v1/eso/{realm}/{key}"), {
		type: "object",
		properties: { error: { type: "string" } },
		required: ["error"],
	});
	assert.deepEqual(schemaOf("/api/v1/realms/{slug}/secrets/{key}"), { $ref: "#/components/schemas/Error" });
});

test("metrics are described as text", () => {
	assert.deepEqual(Object.keys(operationOf("GET", "/metrics").responses["200"]?.content ?? {}), ["text/plain"]);
});

test("the document can be sent: it is JSON without anything lost", () => {
	assert.deepEqual(JSON.parse(JSON.stringify(document)), structuredClone(document));
});
