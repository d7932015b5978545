/* Engines as processes: the effect of either pipe's end. */
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ENGINE = fileURLToPath(new URL("../examples/typescript/main.ts", import.meta.url));
const PING = '{"method":"ping","params":{}}\n';
const HEALTHY = '{"data":{"status":"healthy"}}\n';

/** The longest wait for an end; then the process is killed. */
const PATIENCE_MS = 120_000;

function start() {
	const child = spawn(process.execPath, [ENGINE], { env: {}, timeout: PATIENCE_MS, killSignal: "SIGKILL" });
	child.stdin.on("error", () => {});
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr += text;
	});
	const ended = once(child, "close").then(([code, signal]) => ({ code, signal, stderr }));
	return { child, ended };
}

async function readLine({ stdout }: ChildProcessWithoutNullStreams): Promise<string> {
	const [chunk] = await once(stdout, "data");
	return String(chunk);
}

const QUIET_END = { code: 0, signal: null, stderr: "" };

test("an engine answers while its input is open, and the end of the input ends it", async () => {
	const { child, ended } = start();
	for (let count = 0; count < 3; count++) {
		child.stdin.write(PING);
		assert.equal(await readLine(child), HEALTHY);
	}
	child.stdin.end();
	assert.deepEqual(await ended, QUIET_END);
});

test("requests from before the end of the input are answered", async () => {
	const { child, ended } = start();
	const [chunks] = await Promise.all([child.stdout.toArray(), ended, child.stdin.end(PING.repeat(100))]);
	assert.equal(chunks.join(""), HEALTHY.repeat(100));
});

test("an engine that nobody asks ends with its input", async () => {
	const { child, ended } = start();
	child.stdin.end();
	assert.deepEqual(await ended, QUIET_END);
});

test("an engine whose responses nobody reads ends without a word, though its input stays open", async () => {
	const { child, ended } = start();
	child.stdin.write(PING);
	await readLine(child);
	child.stdout.destroy();
	const more = setInterval(() => child.stdin.write(PING), 20);
	const end = await ended.finally(() => clearInterval(more));
	assert.deepEqual(end, QUIET_END);
});

test("an engine whose output was closed before it began ends without a word", async () => {
	const { child, ended } = start();
	child.stdout.destroy();
	child.stdin.end(PING.repeat(1000));
	assert.deepEqual(await ended, QUIET_END);
});
