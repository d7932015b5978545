import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { until } from "../../testing/until.ts";
import type { EngineHost } from "./host.ts";
import { failure, scripted, settings, startHost } from "./testing.ts";

/** Counts this process's open descriptors and its children. */
function held(): { descriptors: number; children: number } {
	const threads = readdirSync("/proc/self/task");
	const children = threads.flatMap((id) => readFileSync(`/proc/self/task/${id}/children`, "utf8").split(" "));
	return { descriptors: readdirSync("/proc/self/fd").length, children: children.filter((id) => id !== "").length };
}

/** Repeats a round, partly in parallel, and checks that it leaves nothing behind. */
async function repeat(host: EngineHost, rounds: number, round: () => Promise<unknown>): Promise<void> {
	for (let warm = 0; warm < 10; warm++) await round();
	const none = () => host.state().every(({ processes }) => processes === 0);
	const areGone = () => none() && held().children === 0;
	await until(areGone);
	const before = held();
	for (let done = 0; done < rounds; done += 10) await Promise.all(Array.from({ length: 10 }, round));
	// The last descriptors are closed a moment after their process has ended.
	await until(() => areGone() && held().descriptors <= before.descriptors);
}

test("processes that answer once leave neither processes nor descriptors behind", async (t) => {
	const { host, log } = await startHost(t, [scripted("hostile/one-shot.sh")]);
	await repeat(host, 200, () => host.call("one-shot", settings(), "generate", {}));
	assert.deepEqual(log.lines, []);
});

test("a thousand processes that die over a request leave neither processes nor descriptors behind", async (t) => {
	const timing = { pause_ms: 0, window_ms: 0 };
	const { host } = await startHost(t, [scripted("hostile/crashing.sh")], timing);
	await repeat(host, 1000, () => failure(host.call("crashing", settings(), "generate", {})));
	assert.equal(host.state()[0]?.last_failure, "the process was ended by SIGKILL");
});
