import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type Answer, type Api, api, type RequestOptions } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { secretPath, unique } from "../harness/fixtures.ts";
import { exchangeBytes, statusesIn } from "../harness/raw.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { type JsonRoutes, jsonRoutes } from "./json-routes.ts";

const MAX_BODY_BYTES = 1_048_576;

let server: Server;
let client: Api;
let world: JsonRoutes;

before(async () => {
	server = await startServer();
	client = api(server);
	world = await jsonRoutes(client);
});
after(() => server.close());

function setSecret(raw: string | Buffer, options: RequestOptions = {}): Promise<Answer> {
	return client.post(`/realms/${world.slug}/secrets`, undefined, { token: world.owner.token, raw, ...options });
}

/** Makes a body that sets a secret, padded with an unknown field to exactly this many bytes. */
function bodyOf(bytes: number): string {
	const start = `{"key":"${unique("KEY")}","value":"a value","filling":"`;
	return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
}

for (const type of [
	"text/plain",
	"text/plain; charset=utf-8",
	"application/x-www-form-urlencoded",
	"multipart/form-data; boundary=x",
	"application/xml",
	"application/octet-stream",
	"application/jsonp",
	"text/json-like",
	"json",
]) {
	test(`a body that is called ${type} is refused on every route`, async () => {
		for (const route of world.routes) {
			const raw = JSON.stringify(route.valid());
			const headers = { "content-type": type };
			refused(await client.post(route.path, undefined, { token: route.token, raw, headers }), 400);
		}
	});
}

for (const type of ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;"]) {
	test(`a body that is called ${type} is read`, async () => {
		const raw = JSON.stringify({ key: unique("KEY"), value: "a value" });
		ok(await setSecret(raw, { headers: { "content-type": type } }), 201);
	});
}

test("a body that is called nothing is read as JSON", async () => {
	ok(await setSecret(JSON.stringify({ key: unique("KEY"), value: "a value" }), { untyped: true }), 201);
	refused(await setSecret("key=value", { untyped: true }), 400, "invalid_json");
});

for (const chunked of [false, true]) {
	const how = chunked ? "in chunks" : "with its length";
	test(`a body of exactly 1 MiB, sent ${how}, is read`, async () => {
		ok(await setSecret(bodyOf(MAX_BODY_BYTES), { chunked }), 201);
	});

	test(`a body of one byte more, sent ${how}, is too large on every route`, async () => {
		const raw = bodyOf(MAX_BODY_BYTES + 1);
		for (const { path, token } of world.routes) {
			refused(await client.post(path, undefined, { token, raw, chunked }), 413, "payload_too_large");
		}
	});
}

test("a body that is only announced as too large is refused before it is sent", async () => {
	const head = ["POST /api/v1/auth/login HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
	const received = await exchangeBytes(
		server,
		[...head, "Content-Length: 99999999999", "Connection: close", "", ""].join("\r\n"),
	);
	assert.deepEqual(statusesIn(received), [413]);
});

test("a body without an end is refused as soon as it is too large", async () => {
	const head = ["POST /api/v1/auth/login HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
	const start = [...head, "Transfer-Encoding: chunked", "", ""].join("\r\n");
	const chunk = `${MAX_BODY_BYTES.toString(16)}\r\n${"x".repeat(MAX_BODY_BYTES)}\r\n`;
	assert.deepEqual(statusesIn(await exchangeBytes(server, `${start}${chunk}1\r\nx\r\n`)), [413]);
});

test("a body that nobody may send is refused without a token", async () => {
	const raw = bodyOf(MAX_BODY_BYTES + 1);
	const answer = await client.post(`/realms/${world.slug}/secrets`, undefined, { raw });
	assert.ok([401, 413].includes(answer.status));
});

for (const [what, bytes] of [
	["a lone continuation byte", [0x80]],
	["a byte that is never used", [0xff]],
	["an overlong slash", [0xc0, 0xaf]],
	["an encoded surrogate", [0xed, 0xa0, 0x80]],
	["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
	["half a character", [0xe2, 0x82]],
	["Latin-1", [0xe9]],
] as const) {
	test(`a body with ${what} is refused on every route`, async () => {
		for (const route of world.routes) {
			const whole = JSON.stringify({ ...route.valid(), extra: "@@" });
			const [start = "", end = ""] = whole.split("@@");
			const raw = Buffer.concat([Buffer.from(start), Buffer.from(bytes), Buffer.from(end)]);
			const answer = await client.post(route.path, undefined, { token: route.token, raw });
			refused(answer, 400, "invalid_json");
		}
	});
}

test("a body in UTF-16 or compressed is refused", async () => {
	const text = JSON.stringify({ key: unique("KEY"), value: "a value" });
	refused(await setSecret(Buffer.from(text, "utf16le")), 400);
	refused(await setSecret(gzipSync(text), { headers: { "content-encoding": "gzip" } }), 400);
});

test("a body on a request that takes none changes nothing", async () => {
	const { token } = world.owner;
	const key = unique("KEY");
	ok(await setSecret(JSON.stringify({ key, value: "kept" })), 201);
	const path = secretPath(world.slug, key);
	const raw = JSON.stringify({ value: "changed", environment: "prod" });
	assert.equal(ok(await client.get<Secret>(path, { token, raw })).value, "kept");
	ok(await client.delete(path, { token, raw: "{not json" }));
});

test("a body is read whole, however it is cut", async () => {
	const text = JSON.stringify({ key: unique("KEY"), value: "héllo 🔑 wörld" });
	const head = [
		`POST /api/v1/realms/${world.slug}/secrets HTTP/1.1`,
		"Host: localhost",
		`Authorization: Bearer ${world.owner.token}`,
		"Content-Type: application/json",
		"Transfer-Encoding: chunked",
		"Connection: close",
	];
	const chunks = [...Buffer.from(text)].map((byte) => [Buffer.from("1\r\n"), Buffer.from([byte]), Buffer.from("\r\n")]);
	const request = [Buffer.from(`${head.join("\r\n")}\r\n\r\n`), ...chunks.flat(), Buffer.from("0\r\n\r\n")];
	assert.deepEqual(statusesIn(await exchangeBytes(server, Buffer.concat(request))), [201]);
	const key = JSON.parse(text).key;
	const read = await client.get<Secret>(secretPath(world.slug, key), { token: world.owner.token });
	assert.equal(ok(read).value, "héllo 🔑 wörld");
});
