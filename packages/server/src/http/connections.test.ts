import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createLimits } from "../limits.ts";
import { passTime } from "../testing/monotonic.ts";
import { stays } from "../testing/stays.ts";
import { until } from "../testing/until.ts";
import { Connections } from "./connections.ts";

/** Milliseconds between two looks for connections to close. */
const SWEEP_MS = 1000;

/** Milliseconds in which the meter of the event loop takes a sample. */
const SAMPLED_MS = 30;

/** A server with room for `max` connections; it never answers a request for /held. */
async function serve(t: TestContext, max: number, trusted_proxies: string[] = []) {
	const limits = createLimits();
	const connections = new Connections({ max, trusted_proxies, limits });
	const server = createServer();
	let prepared = 0;
	const [prepare] = server.listeners("connection");
	server.removeAllListeners("connection").on("connection", (socket) => {
		prepared++;
		prepare?.call(server, socket);
	});
	connections.guard(server, ({ url, method }, outgoing) => {
		if (url !== "/held" && method === "GET") outgoing.end("ok");
	});
	const accepted = new Map<number | undefined, Socket>();
	server.prependListener("connection", (socket) => void accepted.set(socket.remotePort, socket));
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	/** Opens a connection, and waits until the server has read the bytes or closed it. */
	const open = async (bytes = "") => {
		const socket = connect({ host: "127.0.0.1", port }).resume();
		socket.on("error", () => undefined);
		t.after(() => socket.destroy());
		await once(socket, "connect");
		const { localPort } = socket;
		socket.write(bytes);
		await until(() => {
			const other = accepted.get(localPort);
			return other !== undefined && (other.destroyed || other.bytesRead >= bytes.length);
		});
		return socket;
	};
	t.after(() => {
		server.close();
		server.closeAllConnections();
	});
	const limit = (name: string) => limits.all().find((one) => one.name === name);
	const counted = (counts: Partial<ReturnType<Connections["counts"]>>) =>
		until(() => isDeepStrictEqual(connections.counts(), { silent: 0, receiving: 0, busy: 0, idle: 0, ...counts }));
	return { open, connections, counted, limit, prepared: () => prepared };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const UPLOAD = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx";
const gone = (socket: Socket) => socket.destroyed || socket.readableEnded;
const closed = (socket: Socket) => socket.closed || once(socket, "close");

test("when all are taken, a silent client makes room, then one that asks nothing, then one that is slow to ask, and nobody whose answer is made", async (t) => {
	const { open, connections, counted, limit } = await serve(t, 5);
	const silent = [await open(), await open("GET / HT")];
	const [idle, receiving, busy] = [await open(get("/")), await open(UPLOAD), await open(get("/held"))];
	await counted({ silent: 2, receiving: 1, busy: 1, idle: 1 });
	for (const next of [...silent, idle, receiving]) {
		assert.ok(!gone(next));
		await open(get("/held"));
		await closed(next);
	}
	await closed(await open(get("/")));
	assert.ok(!gone(busy));
	assert.equal(connections.closed().room, 4);
	assert.deepEqual([limit("connections")?.used(), limit("connections")?.refused?.()], [5, 1]);
});

test("a connection costs nothing but its place until its first bytes, and none that ends before them stays", async (t) => {
	const { open, connections, counted, prepared } = await serve(t, 5);
	const [talking, ended, reset] = [await open(), await open(), await open()];
	assert.deepEqual([prepared(), connections.counts().silent], [0, 3]);
	ended.end();
	reset.resetAndDestroy();
	const answered = once(talking, "data");
	talking.write(get("/"));
	assert.match(String((await answered)[0]), /^HTTP\/1.1 200 /);
	await Promise.all([counted({ idle: 1 }), closed(ended)]);
	assert.equal(prepared(), 1);
});

test("one source has at most 256, a proxy that is trusted as many as there are", async (t) => {
	for (const [trusted, taken] of [
		[[], 256],
		[["127.0.0.1"], 300],
	] as const) {
		const { open, connections, limit } = await serve(t, 400, [...trusted]);
		await Promise.all(Array.from({ length: 300 }, () => open()));
		const refused = () => limit("connections_per_source")?.refused?.() ?? 0;
		await until(() => connections.counts().silent + refused() === 300);
		assert.equal(connections.counts().silent, taken);
		assert.equal(limit("connections_per_source")?.used(), taken === 256 ? 256 : 0);
		assert.equal(refused(), 300 - taken);
	}
});

test("the longest turn is the longest since the last question", async (t) => {
	const { open, connections } = await serve(t, 5);
	await open(get("/"));
	await sleep(SAMPLED_MS);
	connections.longestTurn();
	await sleep(SAMPLED_MS);
	const until = performance.now() + 120;
	while (performance.now() < until);
	await sleep(SAMPLED_MS);
	const longest = connections.longestTurn();
	assert.ok(longest >= 0.12 && longest < 1, String(longest));
	await sleep(SAMPLED_MS);
	assert.ok(connections.longestTurn() < longest);
});

test("a connection without a whole head within 12 s, handshake included, is closed; one that had an answer stays", async (t) => {
	const pass = passTime(t);
	t.mock.timers.enable({ apis: ["setInterval"] });
	const { open, connections, counted } = await serve(t, 5);
	const silent = [await open(), await open("GET / HT")];
	const idle = await open(get("/"));
	await counted({ silent: 2, idle: 1 });
	pass(9000);
	t.mock.timers.tick(SWEEP_MS);
	await stays("all stay", () => ![...silent, idle].some(gone));
	pass(3000);
	t.mock.timers.tick(SWEEP_MS);
	await Promise.all(silent.map(closed));
	assert.deepEqual([...silent, idle].map(gone), [true, true, false]);
	assert.equal(connections.closed().silent, 2);
});

test("when it ends, connections without a request close immediately, the others with their answer", async (t) => {
	const { open, connections, counted } = await serve(t, 5);
	const [silent, idle, busy] = [await open(), await open(get("/")), await open(get("/held"))];
	await counted({ silent: 1, idle: 1, busy: 1 });
	connections.drain();
	await Promise.all([silent, idle].map(closed));
	await stays("its answer is not there yet", () => !gone(busy));
});
