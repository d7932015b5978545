import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import * as v from "valibot";
import type { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { releaseSlot } from "../request-slot.ts";
import { anyConnections } from "../testing/connections.ts";
import { createTestLog } from "../testing/log.ts";
import { stays } from "../testing/stays.ts";
import { createTestSystem } from "../testing/system.ts";
import { until } from "../testing/until.ts";
import { createAdmission, LIMITS } from "./admission.ts";
import { Answers } from "./answers.ts";
import { createApp } from "./app.ts";
import { Bodies } from "./bodies.ts";
import { createHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import { type QueueLimits, RequestQueue } from "./request-queue.ts";
import { publicRoute } from "./route.ts";

/** Requests handled at a time, and those of one source that wait. Design: §13 */
const [SLOTS, WAITING] = [32, 64];
const PROXY = "127.0.0.1";

/** Routes whose handlers end on the test's command. */
function createRoutes() {
	const begun: string[] = [];
	const held: (() => void)[] = [];
	const hold = async (name: string) => {
		begun.push(name);
		await new Promise<void>((resolve) => held.push(resolve));
		return {};
	};
	const given = { summary: "", status: 200, answer: v.unknown() } as const;
	const get = (path: string, handle: (name: string) => Promise<unknown>) =>
		publicRoute({
			...given,
			method: "GET",
			path,
			handle: ({ params }: { params: { name?: string } }) => handle(params.name ?? ""),
		});
	const routes = [
		get("/held/{name}", hold),
		get("/api/v1/health", async () => ({ status: "healthy" })),
		get("/metrics", () => hold("metrics")),
		get("/elsewhere", () => {
			releaseSlot();
			return hold("elsewhere");
		}),
		get("/large", async () => {
			begun.push("large");
			return "x".repeat(200_000);
		}),
		publicRoute({
			...given,
			method: "POST",
			path: "/body",
			body: v.object({ text: v.string() }),
			handle: ({ body }) => hold(body.text),
		}),
	];
	return { begun, held, routes };
}

/** A server with these routes. */
async function serve(given: Partial<QueueLimits> = {}) {
	const { begun, held, routes } = createRoutes();
	const newHeaders = createHeaders(createTestSystem());
	const limits = createLimits();
	const needs = {
		log: createTestLog().log,
		metrics: { answered: () => undefined },
		newHeaders,
		answers: new Answers({ log: createTestLog().log, limits: createLimits() }),
		bodies: new Bodies(createLimits()),
		limits,
		trusted_proxies: [PROXY],
		isAltered: () => false,
	};
	const app = createApp({ ...needs, identify: () => Promise.reject(new Error("nobody")) }, routes);
	const admission = createAdmission({ newHeaders, limits }, [PROXY], { ...LIMITS, late_ms: 60_000, ...given });
	const listener = await listen(
		{ app: app as never, newHeaders, admission, connections: anyConnections() },
		{ host: "127.0.0.1", port: 0 },
		undefined,
	);
	const requests: ClientRequest[] = [];
	after(async () => {
		for (const request of requests) request.destroy();
		for (const release of held) release();
		await listener.close();
	});
	const ask = (path: string, source = "192.0.2.1", method = "GET"): ClientRequest => {
		const { port } = listener.address;
		const headers = { "x-forwarded-for": source };
		const request = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false });
		requests.push(request.on("error", () => undefined));
		return request;
	};
	const limit = (name: string) => limits.all().find((one) => one.name === name);
	const used = (name: string) => limit(name)?.used();
	const refused = (name: string) => limit(name)?.refused?.();
	return { begun, held, ask, used, refused, port: listener.address.port };
}

async function answered(request: ClientRequest): Promise<IncomingMessage & { text: string }> {
	const [response] = (await once(request.end(), "response")) as [IncomingMessage];
	const chunks = await Array.fromAsync(response);
	return Object.assign(response, { text: Buffer.concat(chunks as Buffer[]).toString() });
}

test("one source's flood takes half of what gets free when another asks, and beyond what may wait is refused by name", async () => {
	const { begun, held, ask, used } = await serve();
	for (let count = 0; count < SLOTS + WAITING; count++) ask("/held/flood").end();
	await until(() => used("requests_waiting_per_source") === WAITING);
	const refused = await answered(ask("/held/flood"));
	assert.deepEqual([refused.statusCode, refused.headers["retry-after"]], [429, "1"]);
	assert.equal(JSON.parse(refused.text).error.code, "rate_limited");
	assert.match(refused.text, /\b64 requests\b.*\(requests_waiting_per_source\)/);
	for (let count = 0; count < 4; count++) ask("/held/other", "192.0.2.2").end();
	// No figure shows that requests of a second source wait.
	await wait(50);
	begun.length = 0;
	for (let count = 0; count < 8; count++) {
		held.shift()?.();
		await until(() => begun.length > count);
	}
	assert.equal(begun.filter((name) => name === "other").length, 4, begun.join(" "));
});

test("64 of 256 simultaneous requests wait, and the others are refused by name", async () => {
	// One of them begins in a turn of the event loop, so that all arrive while a slot is free.
	const { begun, used, port } = await serve({ turn_ms: Number.MIN_VALUE });
	const sockets = Array.from({ length: 256 }, () => connect(port, "127.0.0.1"));
	const send = (socket: Socket, path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
	for (const socket of sockets) {
		send(socket, "/api/v1/health");
		await once(socket, "data");
	}
	const refusals: string[] = [];
	for (const socket of sockets) {
		socket.on("data", (bytes) => refusals.push(String(bytes)));
		send(socket, "/held/flood");
	}
	await until(() => begun.length === SLOTS);
	assert.equal(used("requests_waiting_per_source"), WAITING);
	await until(() => refusals.length === 256 - SLOTS - WAITING);
	for (const answer of refusals) assert.match(answer, /^HTTP\/1.1 429 .*\(requests_waiting_per_source\)/s);
	assert.deepEqual([begun.length, used("requests_waiting_per_source")], [SLOTS, WAITING]);
	for (const socket of sockets) socket.destroy();
});

test("a refusal takes as long as its Retry-After says, so that a flood of them costs nobody else's time", async () => {
	const { ask, used } = await serve();
	for (let count = 0; count < SLOTS + WAITING; count++) ask("/held/flood").end();
	await until(() => used("requests_waiting_per_source") === WAITING);
	const started = performance.now();
	const refused = await answered(ask("/held/flood"));
	const tookMs = performance.now() - started;
	assert.ok(tookMs > 990 * Number(refused.headers["retry-after"]), `it took ${tookMs} ms`);
});

test("health, readiness and metrics are answered while every slot is taken", async () => {
	const { begun, ask } = await serve();
	for (let count = 0; count < SLOTS + 10; count++) ask("/held/flood").end();
	await until(() => begun.length === SLOTS);
	const started = performance.now();
	const { statusCode } = await answered(ask("/api/v1/health?ready=true"));
	assert.equal(statusCode, 200);
	assert.ok(performance.now() - started < 30_000, "it does not wait until slots are given back");
});

test("a flood of a monitor's requests is refused, and counted, by the same name", async () => {
	const { ask, used, refused } = await serve();
	for (let count = 0; count < 4 + WAITING; count++) ask("/metrics").end();
	await until(() => used("requests_waiting_per_source") === WAITING);
	const answer = await answered(ask("/metrics"));
	assert.match(answer.text, /\(requests_waiting_per_source\)/);
	assert.deepEqual([answer.statusCode, refused("requests_waiting_per_source"), used("requests")], [429, 1, 0]);
});

test("a request that waits for something else holds no slot", async () => {
	const { begun, ask, used } = await serve();
	for (let count = 0; count < 3 * SLOTS; count++) ask("/elsewhere").end();
	await until(() => begun.length === 3 * SLOTS);
	assert.equal(used("requests"), 0);
});

test("a body that is slow to arrive holds no slot, and its request takes one when it is complete", async () => {
	const { begun, held, ask, used } = await serve();
	const slow = Array.from({ length: SLOTS + 8 }, () => ask("/body", "192.0.2.1", "POST"));
	for (const request of slow) request.setHeader("content-length", 14).flushHeaders();
	await stays("no slot is taken", () => used("requests") === 0, 100);
	ask("/held/quick", "192.0.2.2").end();
	await until(() => begun.includes("quick"));
	assert.equal(used("requests"), 1);
	for (const request of slow) request.end('{"text":"let"}');
	await until(() => begun.length === SLOTS);
	assert.equal(used("requests"), SLOTS);
	for (let count = 0; count < 10; count++) held.shift()?.();
	await until(() => begun.length === SLOTS + 9);
});

test("requests whose client has gone give back everything", async () => {
	const { begun, ask, used } = await serve();
	const first = Array.from({ length: SLOTS }, () => ask("/held/first").end());
	await until(() => begun.length === SLOTS);
	const flood = [...first, ...Array.from({ length: WAITING }, () => ask("/held/flood").end())];
	await until(() => used("requests_waiting_per_source") === WAITING);
	for (const request of flood) if (!request.path.endsWith("first")) request.destroy();
	await until(() => used("requests_waiting_per_source") === 0);
	assert.equal(begun.length, SLOTS, "a request that waited for something else does not begin");
	for (const request of flood) request.destroy();
	await until(() => used("requests") === 0);
});

test("answers that nobody reads hold no slot", async () => {
	const { begun, ask, used, port } = await serve();
	// For each reader more than the kernel buffers for a connection.
	const each = 64;
	const readers = Array.from({ length: SLOTS + 1 }, () => connect(port, "127.0.0.1").pause());
	after(() => {
		for (const reader of readers) reader.destroy();
	});
	for (const reader of readers) reader.write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n".repeat(each));
	// Until the kernel takes no more, which only time shows.
	for (let before = -1; before !== begun.length; await wait(300)) before = begun.length;
	assert.ok(begun.length > readers.length && begun.length < readers.length * each, `${begun.length} were begun`);
	assert.equal(used("requests"), 0);
	ask("/held/quick", "192.0.2.2").end();
	await until(() => begun.includes("quick"));
});

test("a request keeps its slot for 100 ms of a commit, and 1,024 wait for their commits without one", async (t) => {
	let now = 0;
	t.mock.method(performance, "now", () => now);
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const requests = new RequestQueue(LIMITS);
	const enter = (at: number) => requests.enter(`192.0.2.${at % 64}`, () => undefined);
	/** Lets the queue look for slots held too long. */
	const pass = async (ms: number) => {
		now += ms;
		t.mock.timers.tick(20);
		await nextTurn();
	};
	for (let at = 0; at < 1024 + SLOTS; at++) enter(at);
	await nextTurn();
	await pass(99);
	assert.equal(requests.count().late, 0);
	await pass(1);
	assert.equal(requests.count().late, SLOTS);
	for (let round = 1; round < 32; round++) await pass(100);
	assert.deepEqual(requests.count(), { held: SLOTS, waiting: 0, late: 1024 });
	assert.throws(
		() => enter(0),
		({ code, message }: AppError) => code === "overloaded" && message.includes("(requests_waiting_for_commits)"),
	);
});
