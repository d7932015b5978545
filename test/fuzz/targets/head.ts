import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createHeaders } from "../../../packages/server/src/http/headers.ts";
import { answerHostless, answerMalformed } from "../../../packages/server/src/http/malformed.ts";
import { anyConnections } from "../../../packages/server/src/testing/connections.ts";
import { createTestSystem } from "../../../packages/server/src/testing/system.ts";
import type { Target } from "../target.ts";

const HEADERS = 16 * 1024;

/** Ends every message before it, and then the connection: otherwise the server would rightly wait for more. */
const LAST = Buffer.from("\r\n\r\nGET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

const newHeaders = createHeaders(createTestSystem());
const server = createServer({ requireHostHeader: false, maxHeaderSize: HEADERS });
const connections = anyConnections();
connections.guard(server, (incoming, outgoing) => {
	if (incoming.headers.host === undefined && incoming.httpVersion !== "1.0")
		return answerHostless(outgoing, newHeaders);
	incoming.resume();
	outgoing.writeHead(204).end();
	return undefined;
});
answerMalformed(server, newHeaders, (socket) => connections.pipelineOf(socket));
await once(server.listen(0, "127.0.0.1").unref(), "listening");
const { port } = server.address() as AddressInfo;

async function exchange(bytes: Buffer): Promise<string> {
	const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
	let received = "";
	socket.setEncoding("latin1").on("data", (text: string) => {
		received += text;
	});
	socket.write(Buffer.concat([bytes, LAST]));
	await once(socket, "close");
	return received;
}

const POST = "POST / HTTP/1.1\r\nHost: a\r\n";

/** Whatever comes in place of a request, each answer is whole, is one of ours, and the connection ends. */
export const head: Target = {
	sources: [
		"packages/server/src/http/connections.ts",
		"packages/server/src/http/malformed.ts",
		"packages/server/src/http/pipeline.ts",
	],
	max_bytes: HEADERS,
	seeds: [
		"GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n",
		`${POST}Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: a`,
		`${POST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
		`${POST}Content-Length: 5\r\n\r\nhello${POST}Content-Length: 0\r\n\r\n`,
		`${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
		`${POST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`,
		`${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
		`${POST}Transfer-Encoding: chunked\r\n\r\n5;a="b"\r\nhello\r\n0\r\nX-Trailer: c\r\n\r\nGET / HTTP/1.1\r\nHost: a`,
		`${POST}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello`,
		`${POST}Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n`,
		`${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
		"GET / HTTP/1.1\r\nHost: a\r\nX-Folded: b\r\n\tc\r\n d\r\n\r\n",
		"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\n",
		"nothing of that kind",
	],
	tokens: [
		...["GET ", "POST ", "PRI * ", "/", "*", "http://h/", " HTTP/1.1", " HTTP/1.0", " HTTP/2.0", "\r\n", "\n", "\r"],
		...[": ", ":", " ", "\t", "\0", "\xff", "Host: a", "Content-Length: 5", "Content-Length: 0", "0\r\n\r\n"],
		...["Transfer-Encoding: chunked", "5\r\nhello\r\n", "Expect: 100-continue", "Upgrade: h2c", "Connection: close"],
	],
	async check(input) {
		const received = await exchange(input);
		const answers = received.split(/(?=HTTP\/1\.1 \d{3} )/).filter((answer) => answer !== "");
		for (const answer of answers) {
			const [first = "", ...others] = answer.split("\r\n\r\n");
			assert.match(first, /^HTTP\/1\.1 (?:100|204|400|408|417|431) /);
			const length = Number(/^content-length: (\d+)$/im.exec(first)?.[1] ?? 0);
			assert.equal(others.join("\r\n\r\n").length, length);
		}
	},
};
