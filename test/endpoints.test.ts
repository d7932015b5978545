import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "./harness/client.ts";
import { refused } from "./harness/expect.ts";
import { type Person, person } from "./harness/fixtures.ts";
import { openApi, routesOf } from "./harness/openapi.ts";
import { REQUESTS } from "./harness/requests.ts";
import { type Server, startServer } from "./harness.ts";
import { ENDPOINTS, routeName } from "./spec/endpoints.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

/** Returns a path of the pattern that leads to nothing in particular. */
function somePath(pattern: string): string {
	return pattern.replaceAll(/\{(\w+)\}/g, (_, name) => (/id$/i.test(name) ? crypto.randomUUID() : "some-thing"));
}

test("the routes of the server are those of test/spec/endpoints.ts", async () => {
	const routes = routesOf(await openApi(client));
	const served = routes.map(routeName);
	const rows = ENDPOINTS.map(routeName);
	const missing = routes
		.filter((_, at) => !rows.includes(served[at] ?? ""))
		.map(({ method, path }) => `${method} ${path}`);
	assert.deepEqual(missing, [], "add a row for each of these routes");
	const needless = rows.filter((row, at) => !served.includes(row) || rows.indexOf(row) !== at);
	assert.deepEqual(needless, [], "remove these rows");
});

test("the requests of test/harness/requests.ts are for routes of the server", () => {
	const names = ENDPOINTS.map(({ name }) => name);
	assert.deepEqual(
		Object.keys(REQUESTS).filter((name) => !names.includes(name)),
		[],
	);
});

for (const endpoint of ENDPOINTS.filter(({ auth }) => auth !== "none")) {
	test(`${endpoint.method} ${endpoint.path} answers 401 without a token`, async () => {
		const answer = await client.send(endpoint.method, somePath(endpoint.path), { raw: "{}" });
		refused(answer, 401, "unauthorized");
	});
}

for (const path of new Set(ENDPOINTS.map((endpoint) => endpoint.path))) {
	const known = ENDPOINTS.filter((endpoint) => endpoint.path === path).map(({ method }) => method);
	test(`${path} answers 405 with Allow to every method but ${known.join(", ")}`, async () => {
		for (const method of METHODS.filter((other) => !known.some((one) => one === other))) {
			const answer = await client.send(method, somePath(path), { token: root.token });
			refused(answer, 405, "method_not_allowed");
			const allowed = new Set((answer.headers.allow ?? "").split(",").map((one) => one.trim()));
			const expected = METHODS.filter((one) => known.some((other) => other === one));
			assert.deepEqual(
				METHODS.filter((one) => allowed.has(one)),
				expected,
			);
		}
	});
}

for (const path of ["/", "/api", "/api/v1", "/api/v2/health", "/api/v1/nothing", "/api/v1/realms/a-slug/nothing"]) {
	test(`the unknown path ${path} answers 404, with a token and without`, async () => {
		for (const token of [undefined, root.token]) {
			refused(await client.send("GET", path, { token }), 404, "not_found");
			refused(await client.send("POST", path, { token, raw: "{}" }), 404, "not_found");
		}
	});
}

test("every answer has a request id of its own", async () => {
	const answers = await Promise.all(ENDPOINTS.map(({ method, path }) => client.send(method, somePath(path))));
	const ids = answers.map((answer) => answer.headers["x-request-id"]);
	assert.equal(new Set(ids).size, ENDPOINTS.length);
});

test("HEAD answers as GET does, without a body", async () => {
	for (const path of ["/api/v1/health", "/metrics", "/api/v1/auth/providers"]) {
		const answer = await client.send("HEAD", path);
		assert.equal(answer.status, 200);
		assert.equal(answer.text, "");
	}
});
