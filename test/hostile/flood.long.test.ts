import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { person, realm, secretPath } from "../harness/fixtures.ts";
import { openSecure } from "../harness/sockets.ts";
import { type Server, startServer } from "../harness.ts";

/** Requests of one source that may wait. */
const WAITING = 64;
const TRIES = 9;

let server: Server;
let client: Api;
before(async () => {
	server = await startServer();
	client = api(server);
});
after(() => server.close());

test("while 256 connections ask for one secret, another source's request is answered before the 65th of theirs", async () => {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	const options = { token: ada.token };
	ok(await client.post(`/realms/${slug}/secrets`, { key: "KEY", value: "a value" }, options), 201);
	const path = `/api/v1${secretPath(slug, "KEY")}`;
	const asking = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ada.token}\r\n\r\n`;
	const [other] = await openSecure(server, 1, "127.0.3.2");
	const flood = await openSecure(server, 256, "127.0.3.1");
	let answered = 0;
	for (const socket of flood) {
		socket.on("data", (bytes) => {
			const text = String(bytes);
			if (text.startsWith("HTTP/1.1 200 ")) answered++;
			if (text.startsWith("HTTP/1.1 ")) socket.write(asking);
		});
		socket.write(asking);
	}
	const ahead: number[] = [];
	while (ahead.length < TRIES) {
		const count = answered;
		await eventually("the flood is under way", () => answered > count + 2 * WAITING);
		const begun = answered;
		other?.write(asking);
		const [bytes] = await once(other ?? assert.fail(), "data");
		ahead.push(answered - begun);
		assert.match(String(bytes), /^HTTP\/1\.1 200 /);
	}
	for (const socket of [...flood, other]) socket?.destroy();
	// Answers that arrive together are read in any order.
	const [middle = WAITING] = ahead.toSorted((one, another) => one - another).slice(Math.floor(TRIES / 2));
	assert.ok(middle <= WAITING, `answers to the flood before the other's: ${ahead}`);
});
