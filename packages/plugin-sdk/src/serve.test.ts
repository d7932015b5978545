import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { MAX_ERROR_BYTES, MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES } from "@svc/protocol";
import { type Engine, EngineError, ParamsError } from "./engine.ts";
import { serveEngine } from "./serve.ts";

const DESCRIPTOR = {
	name: "sample",
	version: "0.1.0",
	display_name: "Sample",
	description: "An engine for tests",
	sdk_version: 1,
	min_core_version: "0.1.0",
	capabilities: ["host:http", "engine:secret_generation", "engine:lease_hint"],
	tier: "community",
	config_schema: { type: "object", properties: {} },
	default_roles: [],
};

/** Serves these chunks. @returns the engine's responses and standard error */
async function serve(engine: Partial<Engine>, ...chunks: (string | Buffer)[]) {
	let written = "";
	let stderr = "";
	await serveEngine(
		{ descriptor: DESCRIPTOR, ...engine },
		{
			stdin: Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
			stdout: { write: (text) => (written += text) },
			stderr: { write: (text) => (stderr += text) },
		},
	);
	const lines = written.split("\n");
	assert.equal(lines.pop(), "", "every response ends with a line feed");
	return { responses: lines.map((line) => JSON.parse(line)), stderr };
}

/** Sends one request. @returns the engine's response */
async function ask(engine: Partial<Engine>, method: string, params: unknown = {}) {
	const { responses } = await serve(engine, `${JSON.stringify({ method, params })}\n`);
	assert.equal(responses.length, 1);
	return responses[0];
}

test("describe is answered with what plugin.json says", async () => {
	assert.deepEqual(await ask({}, "describe"), {
		data: {
			name: "sample",
			version: "0.1.0",
			display_name: "Sample",
			description: "An engine for tests",
			capabilities: ["secret_generation"],
		},
	});
});

test("an engine is not served under a plugin.json that is none", async () => {
	await assert.rejects(
		serve({ descriptor: { ...DESCRIPTOR, sdk_version: 2 } }),
		/^DescriptorError: plugin.json: sdk_version/,
	);
});

test("ping is healthy unless the engine says otherwise", async () => {
	assert.deepEqual(await ask({}, "ping"), { data: { status: "healthy" } });
	const failing = async () => {
		throw new EngineError("ping failed: away");
	};
	assert.deepEqual(await ask({ ping: failing }, "ping"), { error: "ping failed: away" });
});

test("generate, validate and list answer what the engine returns, also later", async () => {
	const engine: Partial<Engine> = {
		generate: (params) => ({ made: params }),
		validate: async (params) => ({ valid: params.value === "a" }),
		list: () => ({ names: ["svc-0123abcd"] }),
	};
	assert.deepEqual(await ask(engine, "generate", { a: [1] }), { data: { made: { a: [1] } } });
	assert.deepEqual(await ask(engine, "validate", { value: "a" }), { data: { valid: true } });
	assert.deepEqual(await ask(engine, "list"), { data: { names: ["svc-0123abcd"] } });
});

test("what the engine has not, and what nobody knows, is answered with an error", async () => {
	assert.match((await ask({}, "generate")).error, /\bgeneration$/);
	assert.match((await ask({}, "validate")).error, /\bvalidation$/);
	assert.match((await ask({}, "list")).error, /\blisting$/);
	for (const method of ["fly", "", "constructor", "Generate"]) {
		assert.match(
			(await ask({}, method)).error,
			/^unknown method: describe, ping, generate, validate, list, privileges /,
		);
	}
});

test("params are an object, empty when there are none", async () => {
	const engine: Partial<Engine> = { generate: (params) => ({ params }) };
	const { responses } = await serve(engine, '{"method":"generate"}\n');
	assert.deepEqual(responses, [{ data: { params: {} } }]);
	for (const params of [null, [], "a", 5, true]) {
		assert.match((await ask(engine, "generate", params)).error, /^invalid params: .*\bobject$/);
	}
});

test("anything that is not a request is answered with the engine's own beginning, and the next request is served", async () => {
	for (const [invalidParams, beginning] of [
		[{}, "invalid params"],
		[{ invalidParams: "parsing params" }, "parsing params"],
	] as const) {
		const { responses } = await serve(invalidParams, 'x\n\n[]\n{"method":5}\n{"method":"ping"}\n');
		const reasons = [/\bJSON$/, /\bJSON$/, /\bJSON object$/, /\bmethod$/];
		assert.equal(responses.length, reasons.length + 1);
		for (const [at, reason] of reasons.entries()) {
			assert.ok(responses[at].error.startsWith(`${beginning}: the request `));
			assert.match(responses[at].error, reason);
		}
		assert.deepEqual(responses.at(-1), { data: { status: "healthy" } });
	}
});

test("requests are answered one after the other, in order, however their bytes arrive", async () => {
	let running = 0;
	const generate = async ({ wait_ms }: Record<string, unknown>) => {
		assert.equal(++running, 1);
		await new Promise((resolve) => setTimeout(resolve, Number(wait_ms)));
		running--;
		return { wait_ms };
	};
	const lines = [20, 0, 10]
		.map((wait_ms) => `${JSON.stringify({ method: "generate", params: { wait_ms } })}\n`)
		.join("");
	for (const chunks of [[lines], [...lines], [lines.slice(0, 30), lines.slice(30)]]) {
		const { responses } = await serve({ generate }, ...chunks);
		assert.deepEqual(
			responses.map(({ data }) => data.wait_ms),
			[20, 0, 10],
		);
	}
});

test("a request that the end of the input cut off is none", async () => {
	assert.deepEqual((await serve({}, '{"method":"ping"}\n{"method":"ping"}')).responses.length, 1);
});

test("a request may have 256 KiB; a longer one is answered with an error, and is the last", async () => {
	const generate = ({ text }: Record<string, unknown>) => ({ length: String(text).length });
	const request = (bytes: number) => {
		const start = '{"method":"generate","params":{"text":"';
		return `${start}${"x".repeat(bytes - start.length - 3)}"}}\n`;
	};
	const { responses } = await serve(
		{ generate },
		request(MAX_REQUEST_BYTES),
		request(MAX_REQUEST_BYTES + 1),
		request(100),
	);
	assert.equal(responses.length, 2);
	assert.ok(responses[0].data.length > 262_000);
	assert.match(responses[1].error, /\brequest\b.*\b262144 bytes$/);
});

test("a refusal is answered word for word, one about params after the engine's beginning", async () => {
	const throwing = (error: Error) => ({ generate: () => Promise.reject(error) });
	assert.deepEqual(await ask(throwing(new EngineError("role is required")), "generate"), { error: "role is required" });
	assert.deepEqual(await ask(throwing(new ParamsError("role must be a string")), "generate"), {
		error: "invalid params: role must be a string",
	});
});

test("a fault of the engine is answered without its text; standard error has where it was", async () => {
	const generate = () => {
		throw new TypeError("CANARY");
	};
	const { responses, stderr } = await serve({ generate }, '{"method":"generate"}\n{"method":"ping"}\n');
	assert.deepEqual(responses, [{ error: "internal error: TypeError" }, { data: { status: "healthy" } }]);
	assert.match(stderr, /^internal error: TypeError\n\s+at .*serve\.test\.ts/);
	assert.ok(!stderr.includes("CANARY"));
	const odd = () => Promise.reject("CANARY");
	assert.deepEqual(await ask({ generate: odd }, "generate"), { error: "internal error: string" });
});

test("what the server would not take is not answered", async () => {
	const cycle: Record<string, unknown> = {};
	cycle.self = cycle;
	const deep = JSON.parse(`${'{"a":'.repeat(40)}0${"}".repeat(40)}`);
	const table: [data: unknown, reason: RegExp][] = [
		[undefined, /\bone member\b/],
		[null, /\bdata: an object\b/],
		[[1], /\bdata: an object\b/],
		["text", /\bdata: an object\b/],
		[{ a: "\ud800" }, /\bsurrogate\b/],
		[JSON.parse('{"__proto__":1}'), /\b__proto__$/],
		[deep, /\b32 levels$/],
		[{ a: "x".repeat(MAX_RESPONSE_BYTES) }, /\b1048576 bytes$/],
		[{ a: 1n }, /: TypeError$/],
		[cycle, /: TypeError$/],
	];
	for (const [data, reason] of table) {
		const generate = () => data as Record<string, unknown>;
		const { error, ...others } = await ask({ generate }, "generate");
		assert.match(error, /^internal error: /);
		assert.match(error, reason);
		assert.deepEqual(others, {});
	}
});

test("an error that is too long is cut off where a character ends, and half a character is replaced", async () => {
	for (const message of ["x".repeat(MAX_ERROR_BYTES + 1), "é".repeat(MAX_ERROR_BYTES), "a🔑".repeat(MAX_ERROR_BYTES)]) {
		const generate = () => Promise.reject(new EngineError(message));
		const { error } = await ask({ generate }, "generate");
		assert.ok(Buffer.byteLength(error) <= MAX_ERROR_BYTES && Buffer.byteLength(error) > MAX_ERROR_BYTES - 8);
		assert.ok(message.startsWith(error.replace(/\ufffd$/, "")));
	}
	const generate = () => Promise.reject(new EngineError("a\ud800"));
	assert.deepEqual(await ask({ generate }, "generate"), { error: "a\ufffd" });
});
