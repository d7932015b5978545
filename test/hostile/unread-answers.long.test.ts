import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { person, realm, secret } from "../harness/fixtures.ts";
import { openSecure } from "../harness/sockets.ts";
import { type Server, startServer } from "../harness.ts";

const MIB = 1024 * 1024;
const BUNDLE = "/docs/swagger-ui-bundle.js";

/** Requests on a connection: more answers than the kernel takes when nobody reads them. */
const REQUESTS = `GET ${BUNDLE} HTTP/1.1\r\nhost: a\r\n\r\n`.repeat(20);

/** Connections of a source, which together would hold 16 MiB. */
const CONNECTIONS = 64;

/** Milliseconds after which a client requests an answer again: the server cuts only answers that make no progress for 5 s. */
const RENEWED_MS = 4000;

let server: Server;
let client: Api;

before(async () => {
	server = await startServer();
	client = api(server);
});
after(() => server.close());

async function metric(name: string, limit: string): Promise<number> {
	const { text } = await client.send("GET", "/metrics");
	return Number(new RegExp(`^svc_limit_${name}\\{limit="${limit}"\\} (\\d+)$`, "m").exec(text)?.[1]);
}

/** Leaves large answers unread from an address, and asks for each again before it is old. @param onRenewed called after each round */
async function leaveUnread(source: string, over: AbortSignal, onRenewed: () => void): Promise<void> {
	let open: Socket[] = [];
	while (!over.aborted) {
		const next = await openSecure(server, CONNECTIONS, source);
		for (const socket of open) socket.destroy();
		for (const socket of next) socket.pause().write(REQUESTS);
		open = next;
		onRenewed();
		await sleep(RENEWED_MS, undefined, { signal: over }).catch(() => undefined);
	}
	for (const socket of open) socket.destroy();
}

test("large answers that four sources leave unread, and renew before they are old, keep out nobody else's", async () => {
	const alice = await person(client, "alice");
	const { slug } = await realm(client, alice);
	for (const key of ["A", "B", "C"]) await secret(client, alice, slug, key, "\u0001".repeat(150_000));
	const over = new AbortController();
	let rounds = 0;
	const attack = [1, 2, 3, 4].map((at) => leaveUnread(`127.0.7.${at}`, over.signal, () => rounds++));
	try {
		await eventually("much is unread", async () => (await metric("used", "answer_bytes")) > 32 * MIB);
		for (const until = rounds + 12; rounds < until; await sleep(200)) {
			assert.ok((await client.send("GET", BUNDLE)).text.length > MIB);
			ok(await client.get(`/eso/${slug}?env=dev`, { token: alice.token }));
		}
		assert.ok((await metric("used", "answer_bytes")) < 48 * MIB);
		assert.ok((await metric("refused_total", "answer_bytes_per_account")) > 0);
		assert.equal(await metric("refused_total", "answer_bytes"), 0);
	} finally {
		over.abort();
		await Promise.all(attack);
	}
	await eventually("everything is given back", async () => (await metric("used", "answer_bytes")) === 0);
});
