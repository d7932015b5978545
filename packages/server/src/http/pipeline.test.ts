import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { anyConnections } from "../testing/connections.ts";
import { stays } from "../testing/stays.ts";
import { until } from "../testing/until.ts";
import { answerMalformed } from "./malformed.ts";
import type { Handle } from "./pipeline.ts";

/** A server that guards its connections, and a way to send it bytes. */
async function serve(t: TestContext, handle: (...exchange: Parameters<Handle>) => unknown) {
	const server = createServer({ requireHostHeader: false });
	const connections = anyConnections();
	connections.guard(server, (...exchange) => {
		handle(...exchange);
		return undefined;
	});
	answerMalformed(
		server,
		() => ({ "x-request-id": "1" }),
		(socket) => connections.pipelineOf(socket),
	);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const open = (): Socket => {
		const socket = connect({ host: "127.0.0.1", port }).on("error", () => undefined);
		t.after(() => socket.destroy());
		return socket;
	};
	t.after(() => {
		connections.drain();
		server.close();
		server.closeAllConnections();
	});
	return { open, connections };
}

const answer = (outgoing: ServerResponse, body = "ok") =>
	outgoing.writeHead(200, { "content-length": body.length }).end(body);
const get = (path: string, ...headers: string[]) =>
	[`GET ${path} HTTP/1.1`, "host: a", ...headers, "", ""].join("\r\n");
const LAST = "connection: close";
const statuses = (received: string) =>
	[...received.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status));

test("requests sent ahead are handled one after another and in their order, with a turn for others between two", async (t) => {
	const handled: string[] = [];
	let now = 0;
	let most = 0;
	const server = await serve(t, ({ url = "" }, outgoing) => {
		handled.push(url);
		most = Math.max(most, ++now);
		outgoing.once("close", () => now--);
		setImmediate(() => answer(outgoing));
	});
	const socket = server.open();
	const paths = Array.from({ length: 500 }, (_, index) => `/${index}`);
	socket.write(paths.map((path) => get(path)).join("") + get("/last", LAST));
	assert.equal(statuses(await text(socket)).length, 501);
	assert.deepEqual(handled, [...paths, "/last"]);
	assert.equal(most, 1);
});

test("bytes sent ahead of an answer are not parsed, and go with the client", async (t) => {
	const held: ServerResponse[] = [];
	const server = await serve(t, (_incoming, outgoing) => void held.push(outgoing));
	const socket = server.open();
	socket.write("GET / HTTP/1.1\r\n\r\n".repeat(3640));
	await until(() => held.length > 0);
	await stays("the others wait", () => held.length === 1);
	assert.deepEqual(server.connections.counts(), { silent: 0, receiving: 0, busy: 1, idle: 0 });
	socket.resetAndDestroy();
	await once(held[0] as ServerResponse, "close");
	await stays("no other is handled", () => held.length === 1);
	assert.deepEqual(server.connections.counts(), { silent: 0, receiving: 0, busy: 0, idle: 0 });
});

test("a client that leaves while its answer is made is noticed immediately", async (t) => {
	const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
	const server = await serve(t, (_incoming, outgoing) => {
		begun.resolve();
		outgoing.once("close", () => left.resolve(outgoing.writableFinished));
	});
	const socket = server.open();
	socket.write(get("/"));
	await begun.promise;
	socket.destroy();
	assert.equal(await left.promise, false);
});

test("heads that arrive byte by byte, and blank lines between requests, are the same requests", async (t) => {
	const handled: string[] = [];
	const server = await serve(t, ({ url = "" }, outgoing) => {
		handled.push(url);
		answer(outgoing);
	});
	const socket = server.open().setNoDelay();
	for (const byte of `${get("/1")}\r\n${get("/2")}${get("/3", LAST)}`) {
		socket.write(byte);
		await sleep(0);
	}
	assert.deepEqual(statuses(await text(socket)), [200, 200, 200]);
	assert.deepEqual(handled, ["/1", "/2", "/3"]);
});

for (const [how, begin, chunk, end] of [
	[
		"with its length",
		`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${2 ** 20}\r\n${LAST}\r\n\r\n`,
		"x".repeat(2 ** 20),
		"",
	],
	[
		"in large chunks",
		`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n${LAST}\r\n\r\n`,
		`8000\r\n${"x".repeat(2 ** 15)}\r\n`.repeat(32),
		"0\r\n\r\n",
	],
	[
		"in the smallest chunks",
		`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n${LAST}\r\n\r\n`,
		"1\r\nx\r\n".repeat(2 ** 16),
		"0\r\n\r\n",
	],
	[
		"with blank lines in it",
		`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${2 ** 20}\r\n${LAST}\r\n\r\n`,
		"\r\n\r\n".repeat(2 ** 18),
		"",
	],
] as const) {
	test(`a body of 1 MiB ${how} arrives whole`, async (t) => {
		const server = await serve(t, (incoming, outgoing) => {
			let size = 0;
			incoming.on("data", (bytes: Buffer) => {
				size += bytes.length;
			});
			incoming.on("end", () => answer(outgoing, String(size)));
		});
		const socket = server.open();
		socket.write(begin + chunk + end);
		assert.match(await text(socket), new RegExp(`\r\n\r\n${chunk.startsWith("1\r") ? 2 ** 16 : 2 ** 20}$`));
	});
}

test("a body that nobody reads so far is not read from the network either", async (t) => {
	const arrived = Promise.withResolvers<[IncomingMessage, ServerResponse]>();
	const server = await serve(t, (...exchange) => arrived.resolve(exchange));
	const socket = server.open();
	socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${2 ** 25}\r\n${LAST}\r\n\r\n`);
	socket.write(Buffer.alloc(2 ** 25));
	const [incoming, outgoing] = await arrived.promise;
	await stays("few bytes wait", () => incoming.readableLength < 2 ** 18, 300);
	assert.equal(server.connections.counts().receiving, 1);
	let size = 0;
	for await (const bytes of incoming) size += (bytes as Buffer).length;
	assert.equal(size, 2 ** 25);
	answer(outgoing);
	assert.deepEqual(statuses(await text(socket)), [200]);
});

test("a body that arrives after its request was refused is taken away, and the connection continues", async (t) => {
	const server = await serve(t, ({ method }, outgoing) => answer(outgoing, method));
	const socket = server.open();
	socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n${"x".repeat(1000)}`);
	await once(socket, "data");
	socket.write("x".repeat(99_000) + get("/", LAST));
	assert.match(await text(socket), /GET$/);
});

for (const [what, bytes, expected] of [
	["HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", [200]],
	[
		"HTTP/1.0 that keeps its connection",
		`GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n${get("/", LAST)}`,
		[200, 200],
	],
	["the expectation to go on", get("/", LAST, "expect: 100-continue"), [100, 200]],
	["an expectation that nobody knows", get("/", "expect: x").repeat(20) + get("/", LAST), Array(21).fill(200)],
	["rubbish behind it", `${get("/")}rubbish\r\n\r\n`, [200, 400]],
	[
		"a body, and another request in the same bytes",
		`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nok${get("/")}${get("/", LAST)}`,
		[200, 200, 200],
	],
	[
		"a body in chunks, and others in the same bytes",
		`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${get("/")}${get("/", LAST)}`,
		[200, 200, 200],
	],
] as const) {
	test(`a request with ${what} is answered as ever, and one at a time`, async (t) => {
		let now = 0;
		const server = await serve(t, (incoming, outgoing) => {
			assert.equal(++now, 1);
			outgoing.once("close", () => now--);
			void text(incoming).then(() => answer(outgoing));
		});
		const socket = server.open();
		socket.write(bytes);
		assert.deepEqual(statuses(await text(socket)), expected);
	});
}

test("answers larger than the socket takes at once reach a slow reader whole, one after another", async (t) => {
	const large = "x".repeat(2 ** 22);
	const server = await serve(t, (_incoming, outgoing) => answer(outgoing, large));
	const socket = server.open();
	socket.write(get("/").repeat(4) + get("/", LAST));
	let size = 0;
	for await (const bytes of socket) {
		size += (bytes as Buffer).length;
		if (size % 7 === 0) await sleep(1);
	}
	assert.ok(size > 5 * 2 ** 22 && size < 5 * 2 ** 22 + 2000, String(size));
});
