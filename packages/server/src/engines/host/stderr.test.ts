import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createTestLog } from "../../testing/log.ts";
import { until } from "../../testing/until.ts";
import { createMask, showControls } from "./masking.ts";
import { followStderr } from "./stderr.ts";
import { scripted, settings, startHost } from "./testing.ts";

/** Follows these bytes as standard error. @returns the entries logged, and the beginning */
async function logged(chunks: readonly (string | Buffer)[], secrets: readonly string[] = []) {
	const { log, entries } = createTestLog();
	const stream = new PassThrough();
	const stderr = followStderr(stream, { engine: "x", log, mask: createMask(secrets) });
	for (const chunk of chunks) stream.write(chunk);
	stream.end();
	await new Promise((resolve) => stream.once("close", resolve));
	return { entries: entries(), messages: entries().map(({ message }) => message), beginning: stderr.beginning() };
}

test("each line is an entry of the log with the engine's type, however it arrives", async () => {
	const { entries, beginning } = await logged(["fir", "st\nsecond\r\n\n", "third"]);
	const about = { time: "2030-01-01T00:00:00.000Z", level: "info", event: "engine.stderr", engine: "x" };
	assert.deepEqual(
		entries,
		["first", "second", "third"].map((message) => ({ ...about, message })),
	);
	assert.equal(beginning, "first; second; third");
});

test("control characters and what cannot be seen are written out", async () => {
	const { messages } = await logged(["\u001b[31mred\u0007\u0000 \u202Eevil\u2028 \u009b\n"]);
	assert.deepEqual(messages, ["\\u{1b}[31mred\\u{7}\\u{0} \\u{202e}evil\\u{2028} \\u{9b}"]);
});

test("bytes that are not text are logged as far as they are text", async () => {
	const { messages } = await logged([Buffer.from([0xff, 0xfe, 0x41, 0x0a])]);
	assert.deepEqual(messages, ["\ufffd\ufffdA"]);
});

test("a line is cut at 8 KiB, and the next one begins after its end", async () => {
	const { messages } = await logged(["x".repeat(5000), "x".repeat(100_000), "\nnext\n"]);
	assert.deepEqual(messages, [`${"x".repeat(8192)}…`, "next"]);
});

test("a hundred lines a second are logged, the rest is counted", async () => {
	const { entries } = await logged(Array.from({ length: 5000 }, (_, index) => `${index}\n`));
	assert.equal(entries.filter(({ event }) => event === "engine.stderr").length, 100);
	const dropped = entries.filter(({ event }) => event === "engine.stderr.dropped");
	assert.deepEqual(
		dropped.map(({ level, engine, count }) => [level, engine, count]),
		[["warn", "x", 4900]],
	);
});

test("what is more than 1 MiB a second is read later: its writer waits", async () => {
	const stream = new PassThrough();
	followStderr(stream, { engine: "x", log: createTestLog().log, mask: createMask([]) });
	const chunk = Buffer.alloc(64 * 1024, "x\n");
	const isPaused = once(stream, "pause");
	for (let written = 0; written < 32; written++) stream.write(chunk);
	await isPaused;
	assert.ok(stream.readableLength > 0);
	await until(() => stream.readableLength === 0);
	stream.destroy();
});

test("secrets are masked: whole, as in JSON, line by line, and where a line was cut through one", async () => {
	const pem = "-----BEGIN KEY-----\nCANARYcanaryCANARY\n-----END KEY-----";
	const said = [
		"the password is CANARY-password.\n",
		`${JSON.stringify({ pem, password: 'CANARY"quoted' })}\n`,
		`${pem}\n`,
		`${"x".repeat(8192 - 5)}CANARY-password\n`,
	];
	const { messages, beginning } = await logged(said, ["CANARY-password", pem, 'CANARY"quoted', "", "abc"]);
	assert.ok(!/canary/i.test(messages.join()), messages.join("\n"));
	assert.equal(messages[0], "the password is ********.");
	assert.ok(!/canary/i.test(beginning));
});

test("without secrets nothing is masked, and short ones are left alone", () => {
	assert.equal(createMask([])("abc"), "abc");
	assert.equal(createMask(["", "a", "abc"])("abc"), "abc");
	assert.equal(createMask(["$&", "a.c."])("abcd a.c. $& "), "abcd ******** $& ");
	assert.equal(showControls("plain text: äöü €"), "plain text: äöü €");
});

test("an engine's secrets are masked in its log lines and in its errors", async (t) => {
	const { host, log } = await startHost(t, [scripted("hostile/masked.mjs")]);
	const password = "CANARY-password";
	const started = settings({ environment: { SVC_TEST_PASSWORD: password }, secrets: [password] });
	const answer = await host.call("masked", started, "generate", {});
	assert.deepEqual(answer, { error: "login with ******** failed" });
	await host.close();
	assert.equal(log.entries().filter(({ event }) => event === "engine.stderr").length, 3);
	assert.ok(!log.lines.join().includes("CANARY"), log.lines.join());
});

test("even a short secret is masked in an error, which somebody gets", async (t) => {
	const { host } = await startHost(t, [scripted("hostile/masked.mjs")]);
	const started = settings({ environment: { SVC_TEST_PASSWORD: "abc" }, secrets: ["abc", ""] });
	assert.deepEqual(await host.call("masked", started, "generate", {}), { error: "login with ******** failed" });
});

for (const kind of ["lines", "binary", "line"]) {
	test(`a flood of ${kind} on standard error is bounded in the log, and neither this nor another engine is held up`, async (t) => {
		const { host, log } = await startHost(t, [scripted("hostile/endless-stderr.mjs"), scripted("echo.mjs")], {
			end_ms: 100,
		});
		const started = settings({ environment: { SVC_TEST_KIND: kind } });
		const start = performance.now();
		while (performance.now() - start < 1500) {
			assert.ok("data" in (await host.call("endless-stderr", started, "generate", {})));
			assert.ok("data" in (await host.call("echo", settings(), "generate", {})));
			await delay(10);
		}
		await host.close();
		assert.equal(host.state()[0]?.last_failure, undefined);
		const windows = Math.ceil((performance.now() - start) / 1000) + 1;
		assert.ok(log.lines.length <= windows * 101, `${log.lines.length} lines in ${windows} seconds`);
		assert.ok(log.lines.every((line) => line.length < 64 * 1024));
	});
}
