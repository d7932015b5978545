import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { refused } from "../harness/expect.ts";
import { openSecure } from "../harness/sockets.ts";
import { type Server, startServer } from "../harness.ts";

const MIB = 1024 * 1024;

let server: Server;
let client: Api;

before(async () => {
	server = await startServer();
	client = api(server);
});
after(() => server.close());

/** A login whose body, which anybody may send, never ends. */
interface SlowBody {
	socket: Socket;
	answer: string;
}

/** Opens connections of one source that send bodies of 1 MiB without the last byte. */
async function sendSlowly(count: number, from: string): Promise<SlowBody[]> {
	const sockets = await openSecure(server, count, from);
	const head = `POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${MIB}\r\n\r\n`;
	const bodies = sockets.map((socket) => {
		const body = { socket, answer: "" };
		socket.setEncoding("latin1").on("data", (text: string) => {
			body.answer += text;
		});
		return body;
	});
	await Promise.all(
		sockets.map((socket) => new Promise((resolve) => socket.write(head + " ".repeat(MIB - 1), resolve))),
	);
	return bodies;
}

const isRefused = ({ answer }: SlowBody) => /^HTTP\/1\.1 503 .*retry-after: 5\r\n.*"overloaded"/is.test(answer);
const end = (bodies: readonly SlowBody[]) => {
	for (const { socket } of bodies) socket.destroy();
};

async function metric(name: string, limit: string): Promise<number> {
	const { text } = await client.send("GET", "/metrics");
	return Number(new RegExp(`^svc_limit_${name}\\{limit="${limit}"\\} (\\d+)$`, "m").exec(text)?.[1]);
}

const isEmpty = async () => (await metric("used", "body_bytes")) === 0;
const login = (email: string) => client.post("/auth/login", { email, password: "x".repeat(300 * 1024) });

test("slow bodies of one source hold 16 MiB; further ones get 503, and everybody else is served", async () => {
	const bodies = await sendSlowly(30, "127.0.5.1");
	await eventually("14 of 30 are refused", () => bodies.filter(isRefused).length >= 14);
	assert.equal(bodies.filter(({ answer }) => answer !== "").length, 14);
	assert.equal(await metric("used", "body_bytes_per_source"), 16 * MIB);
	assert.ok((await metric("refused_total", "body_bytes_per_source")) >= 14);
	refused(await login("nobody@example.test"), 401, "invalid_credentials");
	end(bodies);
	await eventually("everything is given back", isEmpty);
});

test("slow bodies of four sources leave room for everybody else's immediately", async () => {
	const sources = ["127.0.6.1", "127.0.6.2", "127.0.6.3", "127.0.6.4"];
	const bodies = (await Promise.all(sources.map((source) => sendSlowly(16, source)))).flat();
	await eventually("20 of 64 are refused", () => bodies.filter(isRefused).length >= 20);
	refused(await login("nobody@example.test"), 401, "invalid_credentials");
	const used = await metric("used", "body_bytes");
	assert.ok(used < 44 * MIB, `${used} bytes are held`);
	assert.equal(await metric("refused_total", "body_bytes"), 0);
	end(bodies);
	await eventually("everything is given back", isEmpty);
});
