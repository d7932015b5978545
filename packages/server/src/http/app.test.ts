import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { after, test } from "node:test";
import * as v from "valibot";
import { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { anActor } from "../testing/actor.ts";
import { anyConnections } from "../testing/connections.ts";
import { createTestLog } from "../testing/log.ts";
import { createTestSystem } from "../testing/system.ts";
import { createAdmission } from "./admission.ts";
import { Answers } from "./answers.ts";
import { createApp } from "./app.ts";
import { Bodies } from "./bodies.ts";
import { createHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import { publicRoute, type Route, route } from "./route.ts";

const CANARY = "CANARY";
const answer = v.unknown();

type Handle = (call: { params: object; ip: string; headers: Record<string, string> }) => unknown;

/** A route for everybody. */
const open = (method: Route["method"], path: string, handle: Handle, given: Partial<Route> = {}): Route => ({
	...publicRoute({ method, path, summary: "", status: 200, answer, handle: async (call) => handle(call) }),
	...given,
});

/** A route that throws the given value after it has set headers of an answer. */
const failing = (path: string, thrown: () => unknown, given: Partial<Route> = {}): Route =>
	open(
		"GET",
		path,
		({ headers }) => {
			Object.assign(headers, { "content-length": "1000", etag: '"a"' });
			throw thrown();
		},
		given,
	);

class DriverError extends Error {
	readonly code = "SQLITE_ERROR";
	override readonly name = "DriverError";
}

const handled: string[] = [];
const ROUTES: Route[] = [
	open("GET", "/plain", () => ({ a: 1 })),
	open("POST", "/plain", () => ({ made: true }), { status: 201 }),
	open("POST", "/only-post", () => ({})),
	open("GET", "/text", ({ headers }) => {
		headers["content-type"] = "text/plain";
		return "text\n";
	}),
	open("GET", "/things/{name}/{other}", ({ params, ip }) => ({ params, ip })),
	open("GET", "/health", () => ({ status: "unhealthy" }), { other: { status: 503, when: () => true } }),
	route({
		method: "POST",
		path: "/private",
		summary: "",
		status: 200,
		query: v.object({ n: v.optional(v.picklist(["1"])) }),
		body: v.object({ text: v.string() }),
		answer,
		async handle({ actor, body }) {
			handled.push(body.text);
			return { email: actor.email, text: body.text };
		},
	}),
	failing("/fails/plainly", () => new DriverError(`${CANARY} near "SELECT"`, { cause: new Error(CANARY) })),
	failing("/fails/with-text", () => CANARY),
	failing("/fails/with-nothing", () => undefined),
	failing("/fails/with-object", () => ({ code: "not_found", status: 404, message: CANARY })),
	failing("/refuses", () => new AppError("rate_limited", "too many", { headers: { "retry-after": "7" } })),
	failing("/breaks", () => new AppError("unhealthy", "the disk is full", { cause: new DriverError(CANARY) })),
	failing("/missing", () => new AppError("not_found", "no such thing"), { notFound: { error: "secret not found" } }),
	failing("/forbidden", () => new AppError("forbidden", "not you"), { notFound: { error: "secret not found" } }),
];

const { log, lines, entries } = createTestLog();
const counted: [method: string, route: string, status: number, seconds: number][] = [];
const newHeaders = createHeaders(createTestSystem());
const limits = createLimits();
const app = createApp(
	{
		log,
		metrics: { answered: (...args) => void counted.push(args) },
		newHeaders,
		answers: new Answers({ log: createTestLog().log, limits }),
		bodies: new Bodies(limits),
		limits,
		trusted_proxies: [],
		isAltered: () => false,
		async identify(authorization) {
			if (authorization === undefined) throw new AppError("unauthorized", "a token is needed");
			return anActor();
		},
	},
	ROUTES,
);
const admission = createAdmission({ newHeaders, limits: createLimits() }, []);
const listener = await listen(
	{ app: app as never, newHeaders, admission, connections: anyConnections() },
	{ host: "127.0.0.1", port: 0 },
	undefined,
);
after(() => listener.close());
const base = `http://127.0.0.1:${listener.address.port}`;

interface Answered {
	status: number;
	headers: Headers;
	text: string;
	json: Record<string, unknown>;
}

async function ask(method: string, path: string, given: RequestInit = {}): Promise<Answered> {
	const response = await fetch(base + path, { method, ...given });
	const text = await response.text();
	const isJson = text !== "" && response.headers.get("content-type") === "application/json";
	return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
}

/** Requests the path exactly as written; fetch would normalize it. */
function askRaw(method: string, path: string): Promise<number> {
	return new Promise((resolve, reject) => {
		const request = httpRequest({ host: "127.0.0.1", port: listener.address.port, method, path }, (response) => {
			response.resume().on("end", () => resolve(response.statusCode ?? 0));
		});
		request.on("error", reject).end();
	});
}

const codeOf = ({ json }: Answered) => (json.error as { code: string } | undefined)?.code;

test("every answer has the headers of the service, of whatever kind it is", async () => {
	const asked = [
		["GET", "/plain"],
		["POST", "/plain"],
		["HEAD", "/plain"],
		["GET", "/nowhere"],
		["DELETE", "/plain"],
		["GET", "/fails/plainly"],
		["POST", "/private"],
	] as const;
	const ids = new Set<string>();
	for (const [method, path] of asked) {
		const { headers } = await ask(method, path);
		assert.equal(headers.get("content-type"), "application/json", path);
		assert.equal(headers.get("cache-control"), "no-store", path);
		assert.equal(headers.get("x-content-type-options"), "nosniff", path);
		ids.add(headers.get("x-request-id") ?? "");
	}
	assert.equal(ids.size, asked.length, "each has an id of its own");
	assert.equal(new Set([...ids].map((id) => id.split("-")[0])).size, 1);
});

test("an unknown path is 404 with the error object, whatever the method", async () => {
	for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
		const found = await ask(method, `/${CANARY}/x?y=${CANARY}`);
		assert.equal(found.status, 404, method);
		assert.deepEqual([codeOf(found), found.text.includes(CANARY)], ["not_found", false]);
	}
	assert.equal((await ask("HEAD", "/nowhere")).status, 404);
});

test("paths are taken as they are: a slash more, a slash doubled or another case is another path", async () => {
	for (const path of ["/plain/", "//plain", "/Plain", "/plain//", "/things/a", "/things/a/b/c", "/things//b"]) {
		assert.equal(await askRaw("GET", path), 404, path);
	}
});

const METHODS: [method: string, path: string, allow: string][] = [
	["PUT", "/plain", "GET, HEAD, POST"],
	["DELETE", "/plain", "GET, HEAD, POST"],
	["PATCH", "/plain", "GET, HEAD, POST"],
	["OPTIONS", "/plain", "GET, HEAD, POST"],
	["GET", "/only-post", "POST"],
	["HEAD", "/only-post", "POST"],
	["POST", "/things/a/b", "GET, HEAD"],
	["GET", "/private", "POST"],
];
for (const [method, path, allow] of METHODS) {
	test(`${method} ${path} is 405 and names ${allow}`, async () => {
		const found = await ask(method, path);
		assert.deepEqual([found.status, found.headers.get("allow")], [405, allow]);
		if (method !== "HEAD") assert.equal(codeOf(found), "method_not_allowed");
	});
}

test("HEAD is GET without its body", async () => {
	for (const path of ["/plain", "/text", "/health"]) {
		const [got, head] = [await ask("GET", path), await ask("HEAD", path)];
		assert.deepEqual(
			[head.status, head.text, head.headers.get("content-type")],
			[got.status, "", got.headers.get("content-type")],
		);
	}
});

test("the parts of a path come decoded, with slashes and blanks in them, and the caller's address is the socket's", async () => {
	const { json } = await ask("GET", "/things/a%2Fb%20%C3%A9/..%2f");
	assert.deepEqual([json.params, json.ip], [{ name: "a/b é", other: "../" }, "127.0.0.1"]);
	for (const path of ["/things/%/x", "/things/%E0%A4%A/x", "/things/%00/%ff"]) {
		assert.ok((await askRaw("GET", path)) < 500, path);
	}
});

test("an answer that is a text is sent as it is, and a route may choose status and headers by its answer", async () => {
	assert.equal((await ask("GET", "/text")).text, "text\n");
	assert.equal((await ask("GET", "/text")).headers.get("content-type"), "text/plain");
	const health = await ask("GET", "/health");
	assert.deepEqual([health.status, health.json], [503, { status: "unhealthy" }]);
});

test("the token comes before the query, the query before the body, and the rule is reached by what is good only", async () => {
	const post = (path: string, body: string, headers: Record<string, string>) => ask("POST", path, { body, headers });
	const signed = { authorization: "Bearer x", "content-type": "application/json" };
	assert.equal(codeOf(await post("/private?n=2", "{", {})), "unauthorized");
	assert.equal(codeOf(await post("/private?n=2", "{", signed)), "validation_failed");
	assert.equal(codeOf(await post("/private?n=1&n=1", "{", signed)), "bad_request");
	assert.equal(codeOf(await post("/private?n=1", "{", signed)), "invalid_json");
	assert.equal(codeOf(await post("/private", "{}", signed)), "missing_field");
	assert.deepEqual(handled, []);
	assert.deepEqual((await post("/private?n=1", '{"text":"é"}', signed)).json, { email: "user@example.com", text: "é" });
});

for (const path of ["/fails/plainly", "/fails/with-text", "/fails/with-nothing", "/fails/with-object"]) {
	test(`an unexpected error is 500 and shows nothing, neither to the caller nor in the log: ${path}`, async () => {
		lines.length = 0;
		const found = await ask("GET", path);
		assert.deepEqual([found.status, codeOf(found)], [500, "internal_error"]);
		assert.ok(!found.text.includes(CANARY) && !found.text.includes("SELECT") && !found.text.includes("at "));
		assert.ok(!lines.join().includes(CANARY));
		const [entry = {}] = entries();
		const { event, request_id, method, route: logged, status } = entry;
		assert.deepEqual(
			{ event, request_id, method, route: logged, status },
			{
				event: "request.failed",
				request_id: found.headers.get("x-request-id"),
				method: "GET",
				route: path,
				status: 500,
			},
		);
	});
}

test("the log says of an unexpected error what it is and where it came from", async () => {
	lines.length = 0;
	await ask("GET", "/fails/plainly");
	const error = entries()[0]?.error as { name: string; code: string; stack: string[]; cause: object };
	assert.deepEqual([error.name, error.code], ["DriverError", "SQLITE_ERROR"]);
	assert.ok(error.stack.some((frame) => frame.includes("app.test.ts")));
	assert.ok(error.cause);
});

test("a refusal is answered as it is, with its headers and not the route's, and is no line in the log", async () => {
	lines.length = 0;
	const found = await ask("GET", "/refuses");
	assert.deepEqual(found.json, { error: { code: "rate_limited", message: "too many", status: 429 } });
	const has = (name: string) => found.headers.get(name);
	assert.deepEqual([has("retry-after"), has("content-length"), has("etag")], ["7", String(found.text.length), null]);
	assert.deepEqual(lines, []);
});

test("a failure of our own is answered with our words and logged with its cause, whose words are kept out", async () => {
	lines.length = 0;
	const found = await ask("GET", "/breaks");
	assert.deepEqual(found.json, { error: { code: "unhealthy", message: "the disk is full", status: 503 } });
	assert.match(lines.join(), /the disk is full.*DriverError/);
	assert.ok(!lines.join().includes(CANARY));
});

test("a route's own answer stands for what is not found, and for nothing else", async () => {
	assert.deepEqual((await ask("GET", "/missing")).json, { error: "secret not found" });
	assert.equal((await ask("GET", "/missing")).status, 404);
	assert.equal(codeOf(await ask("GET", "/forbidden")), "forbidden");
});

test("requests are counted under the route's pattern, never under the path", async () => {
	counted.length = 0;
	await ask("GET", `/things/${CANARY}/x`);
	await ask("GET", "/fails/plainly");
	await ask("GET", `/${CANARY}`);
	assert.deepEqual(
		counted.map(([method, path, status]) => [method, path, status]),
		[
			["GET", "/things/{name}/{other}", 200],
			["GET", "/fails/plainly", 500],
		],
	);
	assert.ok(counted.every(([, , , seconds]) => seconds >= 0 && seconds < 5));
});
