import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { startProxy, type TcpProxy } from "./proxy.ts";

/** Starts a server behind a proxy; returns the proxy and the server's input. It echoes each chunk. */
async function serverFor(t: TestContext): Promise<{ proxy: TcpProxy; read: () => string }> {
	let read = "";
	const server = createServer((socket) => {
		socket
			.on("error", () => undefined)
			.on("data", (chunk) => {
				read += chunk;
				socket.write(chunk);
			});
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	const proxy = await startProxy((server.address() as AddressInfo).port);
	t.after(async () => {
		await proxy.stop();
		server.close();
	});
	return { proxy, read: () => read };
}

async function client(t: TestContext, proxy: TcpProxy): Promise<Socket> {
	const socket = connect(proxy.port, "127.0.0.1");
	t.after(() => socket.destroy());
	await once(socket, "connect");
	return socket;
}

async function answerTo(socket: Socket, text: string): Promise<string> {
	socket.write(text);
	return String((await once(socket, "data"))[0]);
}

/** Tells whether nothing comes for a while. */
async function staysSilent(socket: Socket): Promise<boolean> {
	const answer = once(socket, "data").then(() => false);
	return Promise.race([answer, setTimeout(100, true)]);
}

test("it passes both ways, and both ends", async (t) => {
	const { proxy } = await serverFor(t);
	const socket = await client(t, proxy);
	assert.equal(await answerTo(socket, "hello"), "hello");
	socket.end();
	await once(socket, "close");
});

test("what is held arrives when it is released, although the client has gone", async (t) => {
	const { proxy, read } = await serverFor(t);
	const [held, other] = [await client(t, proxy), await client(t, proxy)];
	assert.equal(await answerTo(held, "one "), "one ");
	const hold = proxy.hold("TWO");
	held.write("a TWO ");
	await hold.caught;
	held.write("three ");
	assert.equal(await staysSilent(held), true);
	held.destroy();
	assert.equal(await answerTo(other, "other "), "other ", "other connections pass");
	await hold.release();
	assert.equal(read(), "one other a TWO three ");
});

test("a connection that lost data in a black hole stays silent; others pass once it is closed", async (t) => {
	const { proxy, read } = await serverFor(t);
	proxy.blackhole();
	const socket = await client(t, proxy);
	socket.write("lost");
	assert.equal(await staysSilent(socket), true);
	proxy.restore();
	socket.write("after the gap");
	assert.equal(await staysSilent(socket), true);
	assert.equal(await answerTo(await client(t, proxy), "found"), "found");
	assert.equal(read(), "found");
});

test("one connection can be muted from a text on: it is carried out, and no answer comes back", async (t) => {
	const { proxy, read } = await serverFor(t);
	const [muted, other] = [await client(t, proxy), await client(t, proxy)];
	assert.equal(await answerTo(muted, "one "), "one ");
	proxy.mute("TWO");
	muted.write("a TWO ");
	assert.equal(await staysSilent(muted), true);
	assert.equal(await answerTo(other, "TWO "), "TWO ", "other connections pass");
	assert.equal(read(), "one a TWO TWO ");
});

test("a delay keeps the order", async (t) => {
	const { proxy, read } = await serverFor(t);
	const socket = await client(t, proxy);
	proxy.delay(100);
	const started = performance.now();
	socket.write("a");
	// Two pieces on the wire, not one.
	await setTimeout(10);
	socket.write("b");
	while (read() !== "ab" && performance.now() - started < 5000) await setTimeout(5);
	assert.equal(read(), "ab");
	assert.ok(performance.now() - started >= 99);
});

test("a reset ends every connection there is, and refusing those to come as well", async (t) => {
	const { proxy } = await serverFor(t);
	const reset = { code: "ECONNRESET" };
	const socket = await client(t, proxy);
	assert.equal(await answerTo(socket, "hello"), "hello");
	const broken = assert.rejects(once(socket, "data"), reset);
	proxy.reset();
	await broken;
	proxy.refuse();
	const refused = connect(proxy.port, "127.0.0.1");
	await assert.rejects(once(refused, "data"), reset);
	proxy.restore();
	assert.equal(await answerTo(await client(t, proxy), "again"), "again");
});

test("what goes to the server can be altered, byte by byte, until it is restored", async (t) => {
	const { proxy, read } = await serverFor(t);
	const socket = await client(t, proxy);
	proxy.alter((text) => text.replace("keep", "drop"));
	assert.equal(await answerTo(socket, "keep \u00e9"), "drop \u00e9");
	proxy.restore();
	assert.equal(await answerTo(socket, "keep"), "keep");
	assert.equal(read(), "drop \u00e9keep");
});

test("it counts the connections that were asked of it, those that it refused too", async (t) => {
	const { proxy } = await serverFor(t);
	proxy.refuse();
	await assert.rejects(once(connect(proxy.port, "127.0.0.1"), "data"), { code: "ECONNRESET" });
	proxy.restore();
	assert.equal(await answerTo(await client(t, proxy), "hello"), "hello");
	assert.equal(proxy.accepted(), 2);
});
