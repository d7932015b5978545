import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { until } from "../../testing/until.ts";
import { MALFORMED } from "./fixtures/malformed.ts";
import { failure, scripted, settings, startHost } from "./testing.ts";

/** Milliseconds between two answers: with a shorter gap, a busy machine would read both in one piece, which is another fault. */
const GAP_MS = 1000;

async function startHostile(t: TestContext, name: string) {
	const { host, log } = await startHost(t, [scripted(`hostile/${name}.mjs`), scripted("echo.mjs")]);
	return {
		host,
		log,
		generate: (params = {}) => host.call(name, settings(), "generate", params),
		isWell: async () => assert.ok("data" in (await host.call("echo", settings(), "generate", {}))),
	};
}

test("a line without end is ended at 1 MiB, takes no memory, and other engines answer meanwhile", async (t) => {
	const { generate, isWell, host } = await startHostile(t, "endless-line");
	await isWell();
	const before = process.memoryUsage();
	const flood = failure(generate());
	await Promise.all([isWell(), isWell()]);
	const { reason, sent } = await flood;
	const after = process.memoryUsage();
	assert.match(reason, /\b1048576 bytes$/);
	assert.equal(sent, true);
	const growth = after.arrayBuffers + after.heapUsed - before.arrayBuffers - before.heapUsed;
	assert.ok(growth < 8 * 1024 * 1024, `${growth} bytes`);
	await isWell();
	assert.match(host.state()[0]?.last_failure ?? "", /\b1048576 bytes\b/);
});

test("a banner before the first answer is a violation", async (t) => {
	const { host, generate } = await startHostile(t, "banner");
	const { reason, sent } = await failure(generate());
	assert.match(reason, /\bprotocol\b|\bwithout a request\b|\bmore than one line\b/);
	assert.equal(sent, false, "the caller's own request was never sent");
	assert.equal(host.state()[0]?.processes, 0);
});

test("a line of a log among the answers is a violation", async (t) => {
	const { generate } = await startHostile(t, "chatty");
	const { reason, sent } = await failure(generate({ moment: "before" }));
	assert.match(reason, /\bprotocol: .*\bJSON$|\bmore than one line$/);
	assert.equal(sent, true);
});

test("what a process writes while it owes no answer ends it", async (t) => {
	const { host, log, generate } = await startHostile(t, "chatty");
	assert.deepEqual(await generate({ moment: "after" }), { data: { moment: "after" } });
	await until(() => host.state()[0]?.processes === 0);
	const last_failure = host.state()[0]?.last_failure ?? "";
	assert.match(last_failure, /\bwithout a request$/);
	assert.deepEqual(
		log.entries().map(({ event, engine, message }) => [event, engine, message]),
		[["engine.failed", "chatty", last_failure]],
	);
});

test("two answers in one write are a violation, and the first is not believed", async (t) => {
	const { generate } = await startHostile(t, "twice");
	const { reason, sent } = await failure(generate({ of: "a" }));
	assert.match(reason, /\bmore than one line$/);
	assert.equal(sent, true);
});

test("a second answer a moment later ends the process, and the next caller never receives it", async (t) => {
	const { host, generate } = await startHostile(t, "twice");
	assert.deepEqual(await generate({ of: "a", wait_ms: GAP_MS }), { data: { of: "a" } });
	await until(() => host.state()[0]?.processes === 0);
	assert.deepEqual(await generate({ of: "b", wait_ms: GAP_MS }), { data: { of: "b" } });
});

test("a second answer is not given to a caller that is already waiting for the same process", async (t) => {
	const { host, generate } = await startHostile(t, "twice-blocking");
	// One caller more than processes.
	const callers = ["a", "b", "c", "d", "e"];
	const answers = await Promise.all(callers.map((of) => generate({ of })));
	assert.deepEqual(
		answers,
		callers.map((of) => ({ data: { of } })),
	);
	await until(() => host.state()[0]?.last_failure !== undefined);
	// The second answer comes before, together with, or in place of the answer to `describe`.
	const refusal = /\bout of step\b|\bwithout a request\b|\bmore than one line\b/;
	assert.match(host.state()[0]?.last_failure ?? "", refusal);
});

test("an answer that comes byte by byte is an answer", async (t) => {
	const { host, generate } = await startHostile(t, "byte-by-byte");
	assert.deepEqual(await generate({ of: "a" }), { data: { of: "a" } });
	assert.deepEqual(await generate({ of: "b" }), { data: { of: "b" } });
	assert.equal(host.state()[0]?.last_failure, undefined);
});

for (const [name, line] of MALFORMED) {
	test(`an answer that is ${name} is a violation`, async (t) => {
		const { generate, isWell } = await startHostile(t, "verbatim");
		const base64 = Buffer.concat([Buffer.from(line), Buffer.from("\n")]).toString("base64");
		const { reason, sent } = await failure(generate({ base64 }));
		assert.match(reason, /\bprotocol: /);
		assert.equal(sent, true);
		await isWell();
		const whole = Buffer.from('{"data":{"is":"well"}}\n').toString("base64");
		assert.deepEqual(await generate({ base64: whole }), { data: { is: "well" } }, "a new process answers");
	});
}
