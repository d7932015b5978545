import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { exchangeBytes, statusesIn } from "../harness/raw.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
before(async () => {
	server = await startServer();
});
after(() => server.close());

/** Pieces of nearly valid heads: lines of a valid one with parts of the grammar inserted, omitted and recombined. */
const PIECES = [
	...["GET ", "POST ", "HEAD ", "PRI * ", "/api/v1/health", "/api/v1/eso/x", "http://h/", "*", "%", "%00", " HTTP/1.1"],
	...[" HTTP/1.0", " HTTP/2.0", "\r\n", "\n", "\r", ": ", ":", " ", "\t", "\0", "\x7f", "\xff", "Host: localhost"],
	...["Content-Length: 5", "Content-Length: 0", "Transfer-Encoding: chunked", "Expect: 100-continue", "Upgrade: h2c"],
	...["Connection: close", "Connection: keep-alive", "Authorization: Bearer x", "X-Forwarded-For: a, b", "Cookie: a=b"],
	...["Content-Type: application/json", "5\r\nhello\r\n", "0\r\n\r\n", "{}", "x".repeat(300)],
];
const piece = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: fc.string() });

test("whatever bytes come in place of a request, the answer is a refusal or a page, and the server lives", async () => {
	const head = fc.array(piece, { minLength: 1, maxLength: 24 }).map((pieces) => pieces.join(""));
	const property = fc.asyncProperty(head, async (bytes) => {
		// The text that ends the message also ends the connection: otherwise the server would rightly wait for more.
		const end = "\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
		const statuses = statusesIn(await exchangeBytes(server, Buffer.from(bytes + end, "latin1")));
		assert.deepEqual(
			statuses.filter((status) => status >= 500),
			[],
		);
	});
	await fc.assert(property, { seed: 16, numRuns: 120 });
	ok(await api(server).get("/health"));
	assert.doesNotMatch(server.stderr(), /request\.failed|ERR_HTTP/);
});
