import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as v from "valibot";
import { AppError, type ErrorCode } from "../errors.ts";
import { errorMessage, RequiredText } from "../messages.ts";
import { longestTurn } from "../testing/longest-turn.ts";
import { MAX_BODY_BYTES } from "./bodies.ts";
import { check, parseQuery, readForm, readJson as readJsonOf } from "./input.ts";

const holdNothing = () => ({ moved: () => undefined, release: () => undefined });
const readJson = (request: IncomingMessage) => readJsonOf(request, holdNothing, ["source"]);

/** A request whose body comes in these pieces. */
function incoming(chunks: Iterable<string | Buffer>, headers: Record<string, string> = {}): IncomingMessage {
	const stream = Readable.from([...chunks].map((chunk) => Buffer.from(chunk)));
	return Object.assign(stream, { headers }) as unknown as IncomingMessage;
}

const refusedAs =
	(code: ErrorCode, pattern = /./) =>
	(error: unknown) =>
		error instanceof AppError && error.code === code && pattern.test(error.message);

const BODY = '{"key":"ключ 🔑"}';

for (const type of [
	undefined,
	"application/json",
	"Application/JSON",
	"application/json; charset=utf-8",
	"application/json ;charset=utf-8",
	"application/merge-patch+json",
	"application/vnd.svc.v1+json",
]) {
	test(`a body of type ${type} is read`, async () => {
		const headers = type === undefined ? {} : { "content-type": type };
		assert.deepEqual(await readJson(incoming([BODY], headers)), { key: "ключ 🔑" });
	});
}

for (const type of [
	"",
	"text/plain",
	"text/json",
	"application/jsonp",
	"application/x-www-form-urlencoded",
	"multipart/form-data; boundary=json",
	"application/octet-stream",
	"text/plain, application/json",
	"application/javascript",
	"xapplication/json",
]) {
	test(`a body of type "${type}" is refused`, async () => {
		await assert.rejects(
			readJson(incoming([BODY], { "content-type": type })),
			refusedAs("bad_request", /\bContent-Type: application\/json\b/),
		);
	});
}

test("a body is put together from its pieces, wherever a character is cut", async () => {
	const bytes = Buffer.from(BODY);
	for (let cut = 0; cut <= bytes.length; cut++) {
		assert.deepEqual(await readJson(incoming([bytes.subarray(0, cut), bytes.subarray(cut)])), { key: "ключ 🔑" });
	}
	assert.deepEqual(await readJson(incoming(Array.from(bytes, (byte) => Buffer.of(byte)))), { key: "ключ 🔑" });
});

test("no body at all is refused as JSON", async () => {
	await assert.rejects(readJson(incoming([])), refusedAs("invalid_json"));
	await assert.rejects(readJson(incoming([], { "content-length": "0" })), refusedAs("invalid_json"));
});

const sized = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
const isTooLarge = (error: unknown) =>
	refusedAs("payload_too_large", /\b1048576 bytes$/)(error) && (error as AppError).headers.connection === "close";

test("a body of exactly the limit is read, with and without its length announced", async () => {
	const body = sized(MAX_BODY_BYTES);
	for (const headers of [{}, { "content-length": String(MAX_BODY_BYTES) }]) {
		assert.equal(((await readJson(incoming([body], headers))) as string).length, MAX_BODY_BYTES - 2);
	}
});

test("large bodies that arrive at once are not understood in one turn of the event loop", async () => {
	const members = Array.from({ length: 9999 }, (_, at) => `"${String(at).padStart(90, "k")}":1`);
	const body = Buffer.from(`{${members.join(",")}}`);
	let turn = 0;
	const count = () => {
		turn++;
		counting = setImmediate(count);
	};
	let counting = setImmediate(count);
	const turns = await Promise.all(
		Array.from({ length: 8 }, async () => {
			await readJson(incoming([body]));
			return turn;
		}),
	);
	clearImmediate(counting);
	assert.ok(new Set(turns).size >= 3, turns.join(", "));
});

test("a byte more is refused, in one piece, in many, and counted in bytes", async () => {
	const body = sized(MAX_BODY_BYTES + 1);
	const pieces = Array.from({ length: 17 }, (_, index) => body.slice(index * 65_536, (index + 1) * 65_536));
	const wide = `"${"é".repeat(MAX_BODY_BYTES / 2)}"`;
	for (const chunks of [[body], pieces, [wide]]) await assert.rejects(readJson(incoming(chunks)), isTooLarge);
});

test("a body that announces too much is refused before any of it is read", async () => {
	const stream = new Readable({ read: () => assert.fail("nothing is read") });
	const request = Object.assign(stream, { headers: { "content-length": String(MAX_BODY_BYTES + 1) } });
	await assert.rejects(readJson(request as unknown as IncomingMessage), isTooLarge);
});

test("a body that breaks off is refused, whether the connection ends or fails", async () => {
	for (const error of [undefined, new Error("CANARY")]) {
		const request = incoming([]) as unknown as Readable;
		const endless = Object.assign(new Readable({ read: () => undefined }), { headers: {} });
		endless.push('{"a"');
		const reading = readJson(endless as unknown as IncomingMessage);
		endless.destroy(error);
		request.destroy();
		await assert.rejects(reading, refusedAs("bad_request"));
	}
});

const QUERIES: Record<string, Record<string, string>> = {
	"/path": {},
	"/path?": {},
	"/path?a=1&b=2": { a: "1", b: "2" },
	"/path?a": { a: "" },
	"/path?a=": { a: "" },
	"/path?a=b=c": { a: "b=c" },
	"/path?a=%F0%9F%94%91+x%2B": { a: "🔑 x+" },
	"/path?a=?b": { a: "?b" },
	"/path?A=1&a=2": { A: "1", a: "2" },
	"/path?a[]=1": { "a[]": "1" },
	"/path?a=1#a=2": { a: "1#a=2" },
	"/path?toString=1": { toString: "1" },
	"/path?&a=1&&b=2&": { a: "1", b: "2" },
	"/path?=1": { "": "1" },
	"/path?a=%": { a: "%" },
	"/path?a=%zz&%c3=%c3%28": { a: "%zz", "%c3": "%c3%28" },
	"/path?a=%00%0A": { a: "\u0000\n" },
};
for (const [target, expected] of Object.entries(QUERIES)) {
	test(`the query of ${target} is read`, () => {
		assert.deepEqual({ ...parseQuery(target) }, expected);
	});
}

test("a parameter that is given twice is refused, in any spelling and with the same value too", () => {
	for (const target of ["/?a=1&a=2", "/?a=1&a=1", "/?a&a", "/?a=1&%61=2", "/?__proto__=1&__proto__=2"]) {
		assert.throws(() => parseQuery(target), refusedAs("bad_request"), target);
	}
});

test("a parameter named __proto__ is a parameter", () => {
	const query = parseQuery("/?__proto__=1");
	assert.deepEqual(Object.entries(query), [["__proto__", "1"]]);
});

const Schema = v.object({
	text: RequiredText,
	count: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
	flag: v.optional(v.boolean()),
	list: v.optional(v.array(v.string())),
	date: v.optional(v.date()),
	kind: v.optional(v.picklist(["a"], errorMessage("invalid_role", "kind must be a"))),
});

for (const input of [null, "text", 1, true, [], ["text"], undefined]) {
	test(`${JSON.stringify(input)} is no object`, () => {
		assert.throws(() => check(Schema, input), refusedAs("validation_failed"));
	});
}

const REFUSED: [input: object, code: ErrorCode, field: string][] = [
	[{}, "missing_field", "text"],
	[{ text: null }, "missing_field", "text"],
	[{ text: "" }, "missing_field", "text"],
	[{ text: 1 }, "validation_failed", "text"],
	[{ text: ["a"] }, "validation_failed", "text"],
	[{ text: "\ud800" }, "validation_failed", "text"],
	[{ text: "a", count: "1" }, "validation_failed", "count"],
	[{ text: "a", count: 1.5 }, "validation_failed", "count"],
	[{ text: "a", count: 2 ** 53 }, "validation_failed", "count"],
	[{ text: "a", count: 0 }, "validation_failed", "count"],
	[{ text: "a", flag: "true" }, "validation_failed", "flag"],
	[{ text: "a", list: "a" }, "validation_failed", "list"],
	[{ text: "a", list: ["a", 1] }, "validation_failed", "list.1"],
	[{ text: "a", date: "2030" }, "validation_failed", "date"],
	[{ text: "a", kind: "b" }, "invalid_role", "kind"],
	[{ text: "a", kind: 1 }, "invalid_role", "kind"],
	[{ text: "a", kind: null }, "missing_field", "kind"],
];
for (const [input, code, field] of REFUSED) {
	test(`${JSON.stringify(input)} is refused: ${code} of ${field}`, () => {
		assert.throws(
			() => check(Schema, input),
			(error) => error instanceof AppError && error.code === code && error.message.startsWith(`${field} `),
		);
	});
}

test("what the schema does not name is dropped, and only the first problem is reported", () => {
	assert.deepEqual(check(Schema, JSON.parse('{"text":"a","other":1,"__proto__":{"count":5}}')), { text: "a" });
	assert.throws(() => check(Schema, { count: "x", flag: "y" }), refusedAs("missing_field", /^text\b/));
});

const formOf = (body: string) =>
	readForm(incoming([body], { "content-type": "application/x-www-form-urlencoded" }), holdNothing, MAX_BODY_BYTES);

test("a form of plus signs takes no more time than one of letters", async () => {
	const cost = async (repeated: string) => {
		const [text, meant] = [repeated, repeated.replaceAll("+", " ")].map((one) => one.repeat(MAX_BODY_BYTES / 2 - 1));
		const turns = longestTurn();
		const { a } = await formOf(`a=${text}`);
		await nextTurn();
		const { longest_ms } = turns.stop();
		assert.equal(a, meant);
		return longest_ms;
	};
	await cost("xy");
	const [letters, pluses] = [await cost("xy"), await cost("+x")];
	assert.ok(pluses < 10 + 3 * letters, `${pluses} ms, ${letters} ms of letters`);
});

test("a form of more than 1024 fields is refused", async () => {
	const form = (fields: number) => formOf(Array.from({ length: fields }, (_, at) => `f${at}=`).join("&"));
	assert.equal(Object.keys(await form(1024)).length, 1024);
	await assert.rejects(form(1025), refusedAs("bad_request", /\b1024\b/));
});
