import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { openSecure } from "../harness/sockets.ts";
import { type Server, startServer } from "../harness.ts";

const BUNDLE = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: a\r\n\r\n";
const MIB = 1024 * 1024;

let server: Server;
let client: Api;
before(async () => {
	server = await startServer();
	client = api(server);
	// Loads everything that the server loads at the first request.
	await client.send("GET", "/docs/swagger-ui-bundle.js");
});
after(() => server.close());

const residentBytes = () =>
	Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1024;

async function metric(name: string): Promise<number> {
	const { text } = await client.send("GET", "/metrics");
	return Number(
		text
			.split("\n")
			.find((line) => line.startsWith(`${name} `))
			?.split(" ")[1],
	);
}

/** Asks as an ordinary client during the attack. Returns the growth of the server's memory, and its longest turn in seconds. */
async function watch(attack: () => Promise<Socket[]>): Promise<{ grown: number; turn: number }> {
	ok(await client.get("/health"));
	await metric("svc_event_loop_longest_turn_seconds");
	const idle = residentBytes();
	const sockets = await attack();
	let most = 0;
	for (let turn = 0; turn < 20; turn++) {
		ok(await client.get("/health"));
		most = Math.max(most, residentBytes());
		await sleep(50);
	}
	const turn = await metric("svc_event_loop_longest_turn_seconds");
	for (const socket of sockets) socket.destroy();
	return { grown: most - idle, turn };
}

test("290 requests for the page's bundle on each of four connections, whose answers nobody reads, take little memory and hold nobody up", async () => {
	const { grown, turn } = await watch(async () => {
		const sockets = await openSecure(server, 4, "127.0.6.1");
		for (const socket of sockets) socket.pause().write(BUNDLE.repeat(290));
		return sockets;
	});
	assert.ok(grown < 128 * MIB, `${Math.round(grown / MIB)} MiB more`);
	assert.ok(turn < 0.25, `a turn of ${turn} s`);
});

test("64 KiB of the smallest requests on each of fifty connections hold nobody up", async () => {
	const { grown, turn } = await watch(async () => {
		const sockets = await openSecure(server, 50, "127.0.6.2");
		for (const socket of sockets)
			socket.resume().write("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n".repeat(1600));
		return sockets;
	});
	assert.ok(grown < 128 * MIB, `${Math.round(grown / MIB)} MiB more`);
	assert.ok(turn < 0.25, `a turn of ${turn} s`);
});

test("a file of the page is read once, has its length, and a question for its head opens nothing", async () => {
	const path = "/docs/swagger-ui-bundle.js";
	const whole = await client.send("GET", path);
	const head = await client.send("HEAD", path);
	assert.equal(Number(whole.headers["content-length"]), Buffer.byteLength(whole.text));
	assert.equal(head.headers["content-length"], whole.headers["content-length"]);
	assert.equal(head.text, "");
	const again = await client.send("GET", path, { headers: { "if-none-match": String(whole.headers.etag) } });
	assert.deepEqual([again.status, again.text], [304, ""]);
});
