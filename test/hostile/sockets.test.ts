import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, afterEach, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { fields, ok } from "../harness/expect.ts";
import { type Person, person, realm, secretPath } from "../harness/fixtures.ts";
import { exchangeBytes, statusesIn } from "../harness/raw.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const CRLF = "\r\n";

let server: Server;
let client: Api;
let alice: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
	slug = (await realm(client, alice)).slug;
});
afterEach(async () => {
	ok(await client.get("/health"));
});
after(() => server.close());

function lines(...all: string[]): string {
	return [...all, "", ""].join(CRLF);
}

function get(...headers: string[]): string {
	return lines("GET /api/v1/health HTTP/1.1", "Host: localhost", "Connection: close", ...headers);
}

/** Input that is never a valid request: the parser answers with a 4xx, or only closes the connection. */
const REJECTED = [
	[
		"two lengths",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Content-Length: 2", "Content-Length: 5")}{}abc`,
	],
	["one length twice in a line", `${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Content-Length: 2, 5")}{}abc`],
	["a negative length", lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Content-Length: -1")],
	["a length with a sign", `${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Content-Length: +2")}{}`],
	["a length that is a word", lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Content-Length: two")],
	[
		"a length and chunks",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Content-Length: 4", "Transfer-Encoding: chunked")}0\r\n\r\n`,
	],
	[
		"chunks and a length",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Content-Length: 4")}0\r\n\r\n`,
	],
	[
		"an unknown transfer encoding",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Transfer-Encoding: xchunked")}0\r\n\r\n`,
	],
	[
		"chunked that is not last",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, identity")}0\r\n\r\n`,
	],
	[
		"a chunk size that is none",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")}zz\r\nab\r\n0\r\n\r\n`,
	],
	[
		"a chunk longer than it says",
		`${lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")}1\r\nabc\r\n0\r\n\r\n`,
	],
	["no host", lines("GET /api/v1/health HTTP/1.1", "Connection: close")],
	["a header of 64 KiB", get(`X-Long: ${"x".repeat(65_536)}`)],
	["headers of 64 KiB together", get(...Array.from({ length: 64 }, (_, index) => `X-${index}: ${"x".repeat(1_024)}`))],
	["a request line of 64 KiB", lines(`GET /${"x".repeat(65_536)} HTTP/1.1`, "Host: a")],
	["a space before the colon", get("X-Odd : x")],
	["a line without a colon", get("no header at all")],
	["NUL in a header", get("X-Odd: a\u0000b")],
	["a line feed in a header's name", get("X-\nOdd: x")],
	["a folded line", get("X-Odd: a", " b")],
	["an empty name", get(": x")],
	["another version", lines("GET /api/v1/health HTTP/3.0", "Host: a")],
	["no version", lines("GET /api/v1/health")],
	["an unknown method", lines("NONSENSE /api/v1/health HTTP/1.1", "Host: a", "Connection: close")],
	["a method in small letters", lines("get /api/v1/health HTTP/1.1", "Host: a", "Connection: close")],
	["bytes that are no request", "\u0000\u0001\u0002\u0003\r\n\r\n"],
	["the greeting of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
	["a tunnel", lines("CONNECT localhost:22 HTTP/1.1", "Host: localhost:22", "Connection: close")],
] as const;

for (const [what, bytes] of REJECTED) {
	test(`a request with ${what} is rejected`, async () => {
		const statuses = statusesIn(await exchangeBytes(server, bytes));
		assert.ok(statuses.length <= 1, `one request had the answers ${statuses.join(", ")}`);
		assert.ok(
			statuses.every((status) => status >= 400 && status < 500),
			statuses.join(", "),
		);
	});
}

for (const [what, bytes, allowed] of [
	[
		"a path in absolute form",
		lines("GET https://localhost/api/v1/health HTTP/1.1", "Host: localhost", "Connection: close"),
		[200, 400, 404],
	],
	["HTTP/1.0 and a host", lines("GET /api/v1/health HTTP/1.0", "Host: localhost"), [200]],
	["HTTP/1.0 without a host", lines("GET /api/v1/health HTTP/1.0"), [200, 400]],
	[
		"a host of another name",
		lines("GET /api/v1/health HTTP/1.1", "Host: evil.example", "Connection: close"),
		[200, 400],
	],
	["a host that is none", lines("GET /api/v1/health HTTP/1.1", "Host: a b@c/d", "Connection: close"), [200, 400]],
	["an empty host", lines("GET /api/v1/health HTTP/1.1", "Host:", "Connection: close"), [200, 400]],
	[
		"an upgrade to a web socket",
		get(
			"Connection: Upgrade",
			"Upgrade: websocket",
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
			"Sec-WebSocket-Version: 13",
		),
		[200, 400, 404],
	],
	[
		"an upgrade to HTTP/2",
		get("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"),
		[200, 400],
	],
	["an expectation that nobody knows", get("Expect: the-unexpected"), [200, 400, 417]],
	["a trace", lines("TRACE /api/v1/health HTTP/1.1", "Host: localhost", "Connection: close"), [400, 404, 405]],
	[
		"options for everything",
		lines("OPTIONS * HTTP/1.1", "Host: localhost", "Connection: close"),
		[200, 204, 400, 404, 405],
	],
	["a header named __proto__", get("__proto__: x", "constructor: x"), [200]],
	[
		"two Authorization headers",
		lines(
			"GET /api/v1/realms HTTP/1.1",
			"Host: a",
			"Connection: close",
			"Authorization: Bearer a",
			"Authorization: Bearer b",
		),
		[400, 401],
	],
] as const) {
	test(`a request with ${what} gets one answer that makes sense`, async () => {
		const received = await exchangeBytes(server, bytes);
		const statuses = statusesIn(received);
		assert.ok(statuses.length <= 1 && statuses.every((status) => allowed.some((one) => one === status)), received);
	});
}

for (const [what, head] of [
	["a length and chunks", ["Content-Length: 6", "Transfer-Encoding: chunked"]],
	["chunks and a length", ["Transfer-Encoding: chunked", "Content-Length: 200"]],
	["chunks written oddly", ["Transfer-Encoding:\u000bchunked"]],
	["two lengths", ["Content-Length: 5", "Content-Length: 200"]],
] as const) {
	test(`with ${what} no second request is smuggled in behind the first`, async () => {
		const inner = JSON.stringify({ key: "SMUGGLED", value: "a value" });
		const authorization = `Authorization: Bearer ${alice.token}`;
		const json = "Content-Type: application/json";
		const smuggled = `${lines(`POST /api/v1/realms/${slug}/secrets HTTP/1.1`, "Host: a", authorization, json, `Content-Length: ${inner.length}`, "Connection: close")}${inner}`;
		const outer = lines("POST /api/v1/auth/login HTTP/1.1", "Host: a", json, ...head);
		await exchangeBytes(server, `${outer}0\r\n\r\n${smuggled}`);
		const answer = await client.get(secretPath(slug, "SMUGGLED"), { token: alice.token });
		assert.equal(answer.status, 404);
	});
}

for (const [what, bytes] of [
	["no host", lines("GET /api/v1/health HTTP/1.1", "Connection: close")],
	["no host, in HTTP/1.0", lines("GET /api/v1/health HTTP/1.0")],
	["an unknown transfer encoding", lines("POST /api/v1/encrypt HTTP/1.1", "Host: a", "Transfer-Encoding: xx")],
	["headers that are too long", get(`X-Long: ${"x".repeat(20_000)}`)],
] as const) {
	test(`a request with ${what} gets the error object, or an answer`, async () => {
		const received = await exchangeBytes(server, bytes);
		if (statusesIn(received)[0] === 200) return;
		assert.match(received, /^x-request-id: \S/im);
		const body: ErrorBody = JSON.parse(received.slice(received.indexOf("\r\n\r\n")));
		fields(body.error, ["code", "message", "status"]);
	});
}

test("requests that are sent at once on one connection are answered in their order", async () => {
	const first = lines("GET /api/v1/health HTTP/1.1", "Host: a");
	const second = lines("GET /api/v1/nothing HTTP/1.1", "Host: a");
	const third = lines("GET /api/v1/realms HTTP/1.1", "Host: a", "Connection: close");
	assert.deepEqual(statusesIn(await exchangeBytes(server, first + second + third)), [200, 404, 401]);
});

test("plain HTTP on the port of HTTPS gets no answer of the server", async () => {
	const { hostname, port } = new URL(server.url);
	const socket = connect(Number(port), hostname);
	socket.end(get(`Authorization: Bearer ${alice.token}`));
	const received = await text(socket).catch(() => "");
	assert.ok(!received.includes("healthy"));
});
