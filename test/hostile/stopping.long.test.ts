import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { openSecure, openSockets } from "../harness/sockets.ts";
import { startServer } from "../harness.ts";

test("SIGTERM ends the server within 10 s, whatever its connections do", async () => {
	const server = await startServer();
	const silent = await openSockets(server, 50, "127.0.5.1");
	for (const socket of silent.slice(0, 25)) socket.write(Buffer.from("16030100f0010000ec0303", "hex"));
	const spoken = await openSecure(server, 40, "127.0.5.2");
	for (const socket of spoken.slice(0, 10)) socket.write("GET /api/v1/health HTTP/1.1\r\nhost: a\r\n\r\n");
	await Promise.all(spoken.slice(0, 10).map((socket) => once(socket, "data")));
	const upload =
		"POST /api/v1/auth/login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
	for (const socket of spoken.slice(10, 20)) socket.write(upload);
	// Requests whose answers nobody reads.
	const bundle = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: a\r\n\r\n";
	for (const socket of spoken.slice(20, 24)) socket.pause().write(bundle.repeat(20));
	const started = performance.now();
	assert.equal(await server.kill("SIGTERM"), 0);
	const took = performance.now() - started;
	assert.ok(took < 10_000, `it took ${Math.round(took)} ms`);
	for (const socket of [...silent, ...spoken]) socket.destroy();
});

test("SIGTERM immediately ends a server that has only connections without a request", async () => {
	const server = await startServer();
	const sockets = [...(await openSockets(server, 50, "127.0.5.1")), ...(await openSecure(server, 50, "127.0.5.2"))];
	const started = performance.now();
	assert.equal(await server.kill("SIGTERM"), 0);
	const took = performance.now() - started;
	assert.ok(took < 4_000, `it took ${Math.round(took)} ms`);
	for (const socket of sockets) socket.destroy();
});
