import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { text } from "node:stream/consumers";
import test from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { awaitBrowser } from "./loopback.ts";

const CODE = "c".repeat(43);
const WAIT_MS = 120_000;

interface Visit {
	readonly path: string;
	readonly method?: string;
	readonly host?: string;
}

async function visit(port: number, { path, method = "GET", host = `127.0.0.1:${port}` }: Visit) {
	const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
	http.request({ port, host: "127.0.0.1", path, method, headers: { host } }, resolve).once("error", reject).end();
	const answer = await promise;
	return {
		status: answer.statusCode,
		headers: answer.headers,
		body: await text(answer),
	};
}

test("the first code that a browser brings is taken, and its page says so and holds nothing else", async () => {
	using listener = await awaitBrowser();
	const { port, result } = listener;
	assert.ok(port >= 1024);
	const [first, second] = await Promise.all([
		visit(port, { path: `/?code=${CODE}` }),
		visit(port, { path: `/?code=${"d".repeat(43)}` }),
	]);
	assert.deepEqual(await result, { code: CODE });
	assert.deepEqual([first.status, second.status], [200, 404]);
	assert.match(first.body, /\bterminal\b.*\bclose\b/);
	assert.doesNotMatch(first.body, /script|style|ccc/);
	const { headers } = first;
	assert.equal(headers["content-security-policy"], "default-src 'none'");
	assert.equal(headers["cache-control"], "no-store");
	assert.equal(headers["content-type"], "text/html; charset=utf-8");
});

test("a browser that comes back with an error ends the waiting, and its page says that nobody is signed in", async () => {
	using listener = await awaitBrowser();
	const { status, body } = await visit(listener.port, { path: "/?error=provider_unavailable" });
	assert.equal(status, 200);
	assert.match(body, /\bnot signed in\b/);
	assert.deepEqual(await listener.result, { error: "provider_unavailable" });
	assert.equal((await visit(listener.port, { path: `/?code=${CODE}` })).status, 404);
});

const REFUSED: readonly (readonly [visit: Visit, status: number])[] = [
	[{ path: "/" }, 400],
	[{ path: "/?code=" }, 400],
	[{ path: `/?code=${CODE}c` }, 400],
	[{ path: `/?code=${CODE.slice(1)}%63` }, 400],
	[{ path: `/?code=${CODE}&code=${CODE}` }, 400],
	[{ path: "/?code=<script>alert(1)</script>" }, 400],
	[{ path: "/?error=" }, 400],
	[{ path: "/?error=<script>alert(1)</script>" }, 400],
	[{ path: `/?code=${CODE}&error=conflict` }, 400],
	[{ path: "/?error=conflict", host: "attacker.example" }, 421],
	[{ path: "/favicon.ico" }, 404],
	[{ path: `/callback?code=${CODE}` }, 404],
	[{ path: `//?code=${CODE}` }, 404],
	[{ path: `/?code=${CODE}`, method: "POST" }, 405],
	[{ path: `/?code=${CODE}`, method: "OPTIONS" }, 405],
	[{ path: `/?code=${CODE}`, host: "attacker.example" }, 421],
	[{ path: `/?code=${CODE}`, host: "127.0.0.1" }, 421],
];

test("a visit that is not the browser returning from the server is refused, and svc still waits for the code", async () => {
	using listener = await awaitBrowser();
	for (const [what, status] of REFUSED) {
		const answer = await visit(listener.port, what);
		assert.equal(answer.status, status, JSON.stringify(what));
		assert.match(answer.body, /\bnothing here\b/);
		assert.doesNotMatch(answer.body, /alert/);
	}
	await visit(listener.port, { path: `/?code=${CODE}` });
	assert.deepEqual(await listener.result, { code: CODE });
});

test("the port is closed at the end, also for a browser that has not said all", async (t) => {
	const listener = await awaitBrowser();
	const { port } = listener;
	const socket = net.connect(port, "127.0.0.1");
	t.after(() => socket.destroy());
	await once(socket, "connect");
	socket.write(`GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`);
	// Makes sure that the server has met both.
	await visit(port, { path: "/" });
	listener[Symbol.dispose]();
	await Promise.race([
		once(socket.resume(), "close"),
		delay(WAIT_MS, undefined, { ref: false }).then(() => assert.fail("the connection is kept")),
	]);
	await assert.rejects(visit(port, { path: "/" }), { code: "ECONNREFUSED" });
});

test("nobody is waited for without end", async () => {
	using listener = await awaitBrowser(10);
	await assert.rejects(listener.result, { exitCode: 1, code: "timeout" });
});
