import assert from "node:assert/strict";
import { test } from "node:test";
import {
	MAX_ERROR_BYTES,
	ProtocolViolation,
	readRequest,
	readResponse,
	writeRequest,
	writeResponse,
} from "./envelope.ts";

const read = (text: string | Buffer) => readResponse(Buffer.from(text));
const nested = (levels: number) => `{"data":${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels)}`;
const isViolation = (error: unknown) => error instanceof ProtocolViolation;

test("a response is data or an error", () => {
	assert.deepEqual(read('{"data":{}}'), { data: {} });
	assert.deepEqual(read(' { "data" : { "a" : [ 1 ] } } \r'), { data: { a: [1] } });
	assert.deepEqual(read('{"error":""}'), { error: "" });
	assert.deepEqual(read('{"error":"é \\ud83d\\udd11 \\u0000"}'), { error: "é 🔑 \u0000" });
	assert.deepEqual(read(nested(31)), JSON.parse(nested(31)));
});

const VIOLATIONS: Record<string, readonly (string | Buffer)[]> = {
	"both, none or other members": [
		...['{"data":{},"error":"x"}', '{"data":{},"error":null}', "{}", '{"Data":{}}', '{"result":{}}'],
		...['{"data":{},"id":1}', '{"data":{},"__proto__":{}}', '{"__proto__":{"data":{}}}', '{"error":"x","ok":false}'],
	],
	"no object": ["[]", "null", '"x"', "0", "true", '["data",{}]', '[{"data":{}}]'],
	"members of another type": [
		...['{"data":"x"}', '{"data":null}', '{"data":[]}', '{"data":1}', '{"data":true}'],
		...['{"error":{}}', '{"error":null}', '{"error":1}', '{"error":["x"]}', '{"error":{"message":"x"}}'],
	],
	"no JSON": [
		...["", " ", "\r", "{", '{"data":{}', '{"data":{}}}', '{"data":{},}', "{'data':{}}", "{data:{}}", '{"data":{}} x'],
		...['{"data":{"a":NaN}}', '{"data":{"a":Infinity}}', '{"data":{"a":01}}', '{"data":{"a":undefined}}'],
		...['{"data":{}}{"data":{}}', '\ufeff{"data":{}}', "Listening on port 80", '{"data":{}}//', '{"error":"\t"}'],
	],
	"a name twice": [
		...['{"data":{},"data":{}}', '{"error":"a","error":"b"}', '{"data":{"a":1,"a":2}}'],
		'{"data":{},"d\\u0061ta":{}}',
	],
	"no UTF-8": [
		Buffer.from([0xff]),
		Buffer.from('{"error":"\xe9"}', "latin1"),
		Buffer.from([...Buffer.from('{"error":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')]),
		Buffer.from('{"data":{}}', "utf16le"),
	],
	"too deep or too wide": [nested(32), nested(10_000), `{"data":{"a":[${"0,".repeat(10_001)}0]}}`],
	"halves of surrogate pairs": [
		...['{"error":"\\ud800"}', '{"data":{"a":"\\udc00"}}', '{"data":{"\\ud800":1}}', '{"data":{"a":["x\\ud83d"]}}'],
		'{"error":"\\udd11\\ud83d"}',
	],
	"a prototype": ['{"data":{"__proto__":{}}}', '{"data":{"a":[{"__proto__":1}]}}', '{"data":{"__pr\\u006fto__":1}}'],
	"numbers too large for a double": ['{"data":{"a":1e999}}', '{"data":{"a":[-1e999]}}'],
	"an error that is too long": [
		`{"error":"${"x".repeat(MAX_ERROR_BYTES + 1)}"}`,
		`{"error":"${"é".repeat(MAX_ERROR_BYTES / 2)}x"}`,
	],
};
for (const [what, lines] of Object.entries(VIOLATIONS)) {
	test(`a line that is no response is refused: ${what}`, () => {
		for (const line of lines) assert.throws(() => read(line), isViolation, String(line).slice(0, 80));
	});
}

test("an error may have as many bytes as the limit", () => {
	for (const error of ["x".repeat(MAX_ERROR_BYTES), "é".repeat(MAX_ERROR_BYTES / 2)]) {
		assert.deepEqual(read(writeResponse({ error })), { error });
	}
});

test("no refusal shows what was sent", () => {
	const lines = [
		...['{"CANARY":1}', "CANARY", '"CANARY"', '{"error":{"CANARY":1}}', '{"data":{"CANARY":1,"CANARY":2}}'],
		...['{"data":{"CANARY\\ud800":1}}', `{"error":"CANARY${"x".repeat(MAX_ERROR_BYTES)}"}`],
	];
	for (const line of lines) {
		assert.throws(
			() => read(line),
			(error) => isViolation(error) && !String(error).includes("CANARY"),
		);
	}
});

test("a written request is one line and is read as what it was", () => {
	const params = { text: "a\nb\u2028\u0000🔑", __proto__: null, list: [1, {}] };
	const line = writeRequest({ method: "generate", params });
	assert.equal(line.indexOf("\n"), line.length - 1);
	const written = JSON.parse(line.toString());
	assert.deepEqual(Object.keys(written), ["method", "params"]);
	assert.deepEqual(readRequest(line.subarray(0, -1)), { method: "generate", params: { ...params } });
});

test("a written response is one line and is read as what it was", () => {
	for (const response of [{ data: { a: "x\ny" } }, { error: "first\nsecond" }]) {
		const line = writeResponse(response);
		assert.equal(line.indexOf("\n"), line.length - 1);
		assert.deepEqual(read(line.slice(0, -1)), response);
	}
});

test("a request without params has none, and any method and any params are its engine's to judge", () => {
	const request = (text: string) => readRequest(Buffer.from(text));
	assert.deepEqual(request('{"method":"ping"}'), { method: "ping", params: {} });
	assert.deepEqual(request('{"method":"fly","params":5,"id":1}'), { method: "fly", params: 5 });
	assert.deepEqual(request('{"method":"","params":null}'), { method: "", params: null });
});

test("a line that is no request is refused", () => {
	for (const line of ["", "{", "[]", "null", '"ping"', "{}", '{"method":5}', '{"method":null}', '{"params":{}}']) {
		assert.throws(() => readRequest(Buffer.from(line)), isViolation, line);
	}
	assert.throws(() => readRequest(Buffer.from('{"method":"a","method":"b"}')), /^ProtocolViolation: the request has/);
});
