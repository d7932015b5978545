import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { stays } from "../../packages/server/src/testing/stays.ts";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { openSecure, openSockets, socketDescriptorsOf, socketStates } from "../harness/sockets.ts";
import { type Server, startServer } from "../harness.ts";

/** The first bytes of a TLS handshake that never continues. */
const HALF_HELLO = Buffer.from("16030100f0010000ec0303", "hex");
/** Milliseconds after which a connection without a complete head must be gone, wherever it stopped. */
const SILENCE_MS = 13_500;

let server: Server;
before(async () => {
	server = await startServer({ env: { SVC_LIMITS_CONNECTIONS: "600" } });
});
after(() => server.close());

/** Waits until all connections but those that are held are gone: as many sockets as before, and no other on the port for the server to close. */
async function isQuiet(sockets: number, within_ms: number, held = 0): Promise<void> {
	const until = performance.now() + within_ms;
	for (;;) {
		const { CLOSE_WAIT, ESTABLISHED } = socketStates(server);
		const left = socketDescriptorsOf(server) - sockets - held;
		if (left <= 2 && CLOSE_WAIT + ESTABLISHED <= held) return;
		const found = `${left} sockets more, ${CLOSE_WAIT} in CLOSE_WAIT, ${ESTABLISHED} in ESTABLISHED`;
		if (performance.now() > until) assert.fail(found);
		await sleep(100);
	}
}

const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;
const end = (sockets: readonly Socket[]) => {
	for (const socket of sockets) socket.destroy();
};

/** Fails unless the server answers an ordinary client on a new connection. */
async function isServed(): Promise<void> {
	const asked = request(`${server.url}/api/v1/health`, { ca: server.ca, agent: false }).end();
	const [response] = (await once(asked, "response")) as [IncomingMessage];
	response.resume();
	assert.equal(response.statusCode, 200);
	await once(response, "close");
}

test("one source holds at most 256 connections, and nobody else notices", async () => {
	await isServed();
	const before_count = socketDescriptorsOf(server);
	const sockets = await openSockets(server, 300, "127.0.3.1");
	for (const socket of sockets) socket.resume();
	await eventually("256 are left", () => sockets.filter(isOpen).length === 256);
	await stays("no other is closed", () => sockets.filter(isOpen).length === 256, 500);
	await isServed();
	end(sockets);
	await isQuiet(before_count, 5000);
});

test("connections that stop before, in or after their handshake leave nothing behind, though their other end stays", async () => {
	await isServed();
	const before_count = socketDescriptorsOf(server);
	const held = [await openSockets(server, 50, "127.0.3.2"), await openSockets(server, 50, "127.0.3.3")];
	for (const socket of held[1] ?? []) socket.write(HALF_HELLO);
	const spoken = await openSecure(server, 50, "127.0.3.4");
	for (const socket of spoken.slice(0, 25)) socket.write("GET / HTTP/1.1\r\nhost: a\r\n");
	assert.ok(socketDescriptorsOf(server) >= before_count + 140);
	// As an attacker would: their end closes only after the server has given up.
	await sleep(SILENCE_MS);
	end(held.flat());
	await isQuiet(before_count, 1500);
	end(spoken);
	await isServed();
});

test("when there is no room, the longest silent connection goes, and every ordinary client is served", async () => {
	await isServed();
	const flood: Socket[] = [];
	for (const from of ["127.0.4.1", "127.0.4.2", "127.0.4.3", "127.0.4.4"])
		flood.push(...(await openSockets(server, 200, from)));
	for (const socket of flood) socket.resume();
	for (let turn = 0; turn < 20; turn++) await isServed();
	assert.ok(flood.filter(isOpen).length <= 600);
	assert.ok(
		flood.slice(0, 100).every((socket) => !isOpen(socket)),
		"the oldest went first",
	);
	end(flood);
});

test("an answer that nobody reads is abandoned after half a minute", async () => {
	await isServed();
	const before_count = socketDescriptorsOf(server);
	const sockets = await openSecure(server, 10, "127.0.3.6");
	const bundle = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: a\r\n\r\n";
	for (const socket of sockets) socket.pause().write(bundle.repeat(20));
	await stays("they are kept at first", () => socketDescriptorsOf(server) >= before_count + 9, 3000);
	await isQuiet(before_count, 40_000);
	end(sockets);
});

const line = (...lines: string[]) => [...lines, "", ""].join("\r\n");
const BAD: [what: string, status: number, bytes: string][] = [
	["is no HTTP", 400, "nonsense\r\n\r\n"],
	["names no host", 400, line("GET /api/v1/health HTTP/1.1")],
	["has a head that is too long", 431, line("GET / HTTP/1.1", "host: a", `x: ${"x".repeat(20_000)}`)],
	[
		"announces a body that is too large",
		413,
		line("POST /api/v1/auth/login HTTP/1.1", "host: a", "content-type: application/json", "content-length: 9999999"),
	],
];
for (const [what, status, bytes] of BAD) {
	test(`a connection whose request ${what} is gone a second after its answer, though its reader does not close it`, async () => {
		await isServed();
		const before_count = socketDescriptorsOf(server);
		const sockets = await openSecure(server, 20, "127.0.3.5");
		const heard = await Promise.all(
			sockets.map(async (socket) => {
				socket.write(bytes);
				const [data] = await once(socket, "data");
				return String(data);
			}),
		);
		for (const text of heard) assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
		await isQuiet(before_count, 2500);
		end(sockets);
	});
}

/** Measures the milliseconds until the server ends a connection. */
async function endOf(socket: Socket): Promise<number> {
	const begun = performance.now();
	await new Promise<void>((resolve) => socket.once("end", resolve).once("close", resolve).resume());
	return performance.now() - begun;
}

test("a body has 30 s and then gets 408, an idle connection has 65 s, and neither stays, though its other end does", async () => {
	await isServed();
	const before_count = socketDescriptorsOf(server);
	const slow = await openSecure(server, 5, "127.0.3.7");
	const idle = await openSecure(server, 5, "127.0.3.8");
	const ends = idle.map(async (socket) => {
		socket.write(line("GET /api/v1/health HTTP/1.1", "host: a"));
		await once(socket, "data");
		return endOf(socket);
	});
	const late = slow.map(async (socket) => {
		socket.write(line("POST /api/v1/auth/login HTTP/1.1", "host: a", "content-length: 1000"));
		const trickle = setInterval(() => socket.write(" "), 1000);
		const begun = performance.now();
		const [answer] = await Promise.race([once(socket, "data"), endOf(socket).then(() => ["no answer"])]);
		clearInterval(trickle);
		assert.match(String(answer), /^HTTP\/1\.1 408 .*"request_timeout"/s);
		return performance.now() - begun;
	});
	for (const took of await Promise.all(late)) assert.ok(took > 29_500 && took < 35_000, `408 after ${took} ms`);
	await isQuiet(before_count, 2500, idle.length);
	for (const took of await Promise.all(ends)) assert.ok(took > 64_500 && took < 70_000, `closed after ${took} ms`);
	await isQuiet(before_count, 2500);
	end([...slow, ...idle]);
});

test("everybody sees how many connections were refused, and why others were closed", async () => {
	const { text } = await api(server).send("GET", "/metrics");
	const value = (series: string) =>
		Number(
			text
				.split("\n")
				.find((one) => one.startsWith(`${series} `))
				?.split(" ")[1],
		);
	assert.equal(value('svc_limit_max{limit="connections"}'), 600);
	assert.ok(value('svc_limit_refused_total{limit="connections_per_source"}') >= 44);
	assert.ok(value('svc_connections_closed_total{reason="room"}') >= 200);
	assert.ok(value('svc_connections{state="busy"}') >= 1);
	assert.ok(value("svc_event_loop_longest_turn_seconds") > 0);
});
