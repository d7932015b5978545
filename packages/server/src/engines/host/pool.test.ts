import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { EngineSettings, EngineState } from "./host.ts";
import type { Timing } from "./model.ts";
import { failure, isRunning, restricted, scripted, settings, startHost, until } from "./testing.ts";

/** Starts a host with an engine that answers, after a given delay, with its process id. */
async function startSlow(t: TestContext, timing: Partial<Timing> = {}) {
	const made = await startHost(t, [scripted("hostile/slow.mjs"), scripted("hostile/stubborn.mjs")], timing);
	const journal = join(made.folder, "journal");
	const withKey = (key: string): EngineSettings => settings({ key, environment: { SVC_TEST_JOURNAL: journal } });
	return {
		...made,
		journal: () => readFileSync(journal, "utf8").trim().split("\n"),
		/** Calls it with the settings of this key. @returns the id of the process that answered */
		async ask(wait_ms: number, key = "a"): Promise<number> {
			const answer = await made.host.call("slow", withKey(key), "generate", { of: key, wait_ms });
			assert.ok("data" in answer && answer.data.of === key);
			return Number(answer.data.pid);
		},
		state: (): EngineState => made.host.state()[0] ?? assert.fail(),
	};
}

test("nothing is started before the first call, and one process is enough for calls one after the other", async (t) => {
	const { ask, state } = await startSlow(t);
	assert.equal(state().processes, 0);
	const pids = new Set<number>();
	for (let round = 0; round < 20; round++) pids.add(await ask(0));
	assert.deepEqual([pids.size, state().processes], [1, 1]);
});

test("calls at once are shared out over at most four processes, each with one at a time", async (t) => {
	const { ask, state } = await startSlow(t);
	const first = await ask(0);
	// The first calls take longer than the start of a process on a slow machine.
	const pids = await Promise.all(Array.from({ length: 12 }, (_, index) => ask(index < 4 ? 3000 : 10)));
	assert.equal(new Set(pids).size, 4);
	assert.ok(pids.includes(first));
	assert.equal(state().processes, 4);
});

test("an engine of ours that only computes has no more processes than the machine has processors", async (t) => {
	const most = Math.min(4, availableParallelism());
	for (const [network, processes] of [
		[false, most],
		[true, 4],
	] as const) {
		const { host } = await startHost(t, [restricted("hostile/slow.mjs", network)]);
		// The calls take longer than the start of a process on a slow machine.
		const calls = Array.from({ length: 4 }, () => host.call("slow", settings(), "generate", { wait_ms: 3000 }));
		await Promise.all(calls);
		assert.equal(host.state()[0]?.processes, processes, `network: ${network}`);
	}
});

test("settings with another key have processes of their own", async (t) => {
	const { ask, state } = await startSlow(t);
	assert.notEqual(await ask(0, "a"), await ask(0, "b"));
	assert.equal(state().processes, 2);
});

test("the sixty-fifth call that waits is refused; the others are answered", async (t) => {
	const { ask } = await startSlow(t);
	const waiting = Array.from({ length: 64 }, () => ask(0));
	const { reason, sent } = await failure(ask(0));
	assert.deepEqual([reason, sent], ["too many requests are waiting for it", false]);
	assert.equal((await Promise.all(waiting)).length, 64);
});

test("a call that no process takes in time was not sent", async (t) => {
	const { ask, journal } = await startSlow(t, { queue_ms: 2500 });
	// Each takes long enough for four processes to start, even on a slow machine.
	await Promise.all([ask(2000), ask(2000), ask(2000), ask(2000)]);
	const busy = [ask(4000), ask(4000), ask(4000), ask(4000)];
	const { reason, sent } = await failure(ask(0));
	assert.deepEqual([reason, sent, journal().length], ["no process was free within 2.5 s", false, 8]);
	await Promise.all(busy);
});

test("a retired configuration: the call under way is answered, waiting ones are refused, the processes end", async (t) => {
	const { ask, host, state } = await startSlow(t);
	const pid = await ask(0);
	const other = await ask(0, "b");
	const underWay = ask(200);
	await delay(50);
	host.retire("a");
	assert.equal(state().processes, 1, "those that leave are not counted");
	assert.equal(await underWay, pid);
	await until(() => !isRunning(pid));
	assert.ok(isRunning(other));
	assert.notEqual(await ask(0), pid, "the same key begins anew");
});

test("calls that wait when their configuration is retired are refused, unsent", async (t) => {
	const { ask, host } = await startSlow(t);
	const waiting = failure(ask(0));
	host.retire("a");
	const { reason, sent } = await waiting;
	assert.deepEqual([reason, sent], ["its configuration changed", false]);
});

test("a process that nobody needs is ended; the next call starts another", async (t) => {
	const { ask, state } = await startSlow(t, { idle_ms: 50 });
	const pid = await ask(0);
	await until(() => state().processes === 0 && !isRunning(pid));
	assert.notEqual(await ask(0), pid);
	assert.equal(state().last_failure, undefined);
});

test("a process that was killed from outside is replaced", async (t) => {
	const { ask, state } = await startSlow(t);
	const pid = await ask(0);
	// Long enough for the process to be idle in most runs; it is replaced in all of them.
	await delay(100);
	process.kill(pid, "SIGKILL");
	await until(() => state().processes === 0);
	assert.notEqual(await ask(0), pid);
	assert.equal(state().last_failure, "the process was ended by SIGKILL");
});

test("closing answers what is under way, refuses what comes later, and leaves no process", async (t) => {
	const { ask, host, journal, state } = await startSlow(t);
	const pids = [await ask(0), await ask(0, "b")];
	const underWay = ask(100);
	await delay(20);
	await host.close();
	assert.equal(await underWay, pids[0]);
	assert.deepEqual(pids.filter(isRunning), []);
	assert.deepEqual(journal().slice(-2), ["exit", "exit"], "nothing had to be killed");
	const { reason, sent } = await failure(ask(0));
	assert.deepEqual([reason, sent, state().processes], ["the server is stopping", false, 0]);
});

test("closing ends what ignores the end of its input and SIGTERM", async (t) => {
	const { host } = await startSlow(t, { end_ms: 100 });
	const answer = await host.call("stubborn", settings(), "generate", {});
	assert.ok("data" in answer);
	const start = performance.now();
	await host.close();
	assert.equal(isRunning(Number(answer.data.pid)), false);
	assert.ok(performance.now() - start >= 200, "both pauses were kept");
});

test("an engine that nobody knows is unavailable", async (t) => {
	const { host } = await startSlow(t);
	const { reason, sent } = await failure(host.call("nobody", settings(), "ping", {}));
	assert.deepEqual([reason, sent], ["there is no such engine", false]);
});
