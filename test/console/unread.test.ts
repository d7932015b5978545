import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api } from "../harness/client.ts";
import { ask, enter } from "../harness/console.ts";
import { eventually } from "../harness/engine-world.ts";
import { person, realm, secret } from "../harness/fixtures.ts";
import { openSecure } from "../harness/sockets.ts";
import { startServer } from "../harness.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

/** Versions whose comments make a page of 100 kB. */
const VERSIONS = 20;
const COMMENT = "&".repeat(1000);
/** Requests on one connection, whose answers are more than the kernel takes. */
const AHEAD = 120;

test("unread pages count toward their session, whatever addresses ask for them", async () => {
	const server = await startServer();
	ends.defer(() => server.close());
	const client = api(server);
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada, "shop");
	for (let count = 0; count < VERSIONS; count++)
		await secret(client, ada, slug, "NOTED", `${count}`, { environment: "dev", comment: COMMENT });
	const session = await enter(server, ada);
	const path = `/console/realms/${slug}/secrets/NOTED?env=dev`;
	const bytes = Buffer.byteLength((await ask(server, "GET", path, session)).text);
	assert.ok(bytes > VERSIONS * COMMENT.length);
	for (const address of ["127.0.0.2", "127.0.0.3"]) {
		const [socket] = await openSecure(server, 1, address);
		assert.ok(socket !== undefined);
		ends.defer(async () => void socket.destroy());
		const { host } = new URL(server.url);
		socket.pause().write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${session.cookie}\r\n\r\n`.repeat(AHEAD));
	}
	const used = async () => {
		const { text } = await client.send("GET", "/metrics");
		return Number(/^svc_limit_used\{limit="answer_bytes_per_token"\} (\d+)$/m.exec(text)?.[1]);
	};
	await eventually("both are counted for one session", async () => (await used()) === 2 * bytes);
});
