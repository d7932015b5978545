import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { until } from "../../testing/until.ts";
import type { EngineSettings, EngineState } from "./host.ts";
import { TIMING, type Timing } from "./model.ts";
import { failure, isRunning, restricted, scripted, settings, startHost } from "./testing.ts";

/** A file whose creation ends calls that wait for it. */
interface Gate {
	readonly path: string;
	open(): void;
}

function gateIn(folder: string, name: string): Gate {
	const path = join(folder, name);
	return { path, open: () => writeFileSync(path, "") };
}

/** Starts a host with an engine that answers with its process id, as soon as it may. */
async function startSlow(t: TestContext, timing: Partial<Timing> = {}) {
	const made = await startHost(t, [scripted("hostile/slow.mjs"), scripted("hostile/stubborn.mjs")], {
		...{ call_ms: 60_000, ...timing },
	});
	const journal = join(made.folder, "journal");
	const withKey = (key: string): EngineSettings => settings({ key, environment: { SVC_TEST_JOURNAL: journal } });
	return {
		...made,
		journal: () => (existsSync(journal) ? readFileSync(journal, "utf8").trim().split("\n") : []),
		gate: (name: string) => gateIn(made.folder, name),
		/**
		 * Calls it with the settings of this key.
		 * @param gate whose opening it waits for
		 * @returns the id of the process that answered
		 */
		async ask(key = "a", gate?: Gate): Promise<number> {
			const params = gate === undefined ? { of: key, wait_ms: 0 } : { of: key, until: gate.path };
			const answer = await made.host.call("slow", withKey(key), "generate", params);
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
	for (let round = 0; round < 20; round++) pids.add(await ask());
	assert.deepEqual([pids.size, state().processes], [1, 1]);
});

test("calls at once are shared out over at most four processes, each with one at a time", async (t) => {
	const { ask, gate, journal, state } = await startSlow(t);
	const first = await ask();
	const all = gate("all");
	const calls = Array.from({ length: 12 }, () => ask("a", all));
	await until(() => journal().length === 1 + 4);
	all.open();
	const pids = await Promise.all(calls);
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
		const { host, folder } = await startHost(t, [restricted("hostile/slow.mjs", network)]);
		const gate = gateIn(folder, "gate");
		const started = settings({ reads: [folder] });
		const calls = Array.from({ length: 4 }, () => host.call("slow", started, "generate", { until: gate.path }));
		await until(() => host.state()[0]?.processes === processes);
		gate.open();
		await Promise.all(calls);
		assert.equal(host.state()[0]?.processes, processes, `network: ${network}`);
	}
});

test("settings with another key have processes of their own", async (t) => {
	const { ask, state } = await startSlow(t);
	assert.notEqual(await ask("a"), await ask("b"));
	assert.equal(state().processes, 2);
});

test("the sixty-fifth call that waits is refused; the others are answered", async (t) => {
	const { ask, host } = await startSlow(t);
	const waiting = Array.from({ length: 64 }, () => ask());
	const [limit = assert.fail()] = host.limits;
	assert.equal(limit.used(), limit.max);
	const { reason, sent } = await failure(ask());
	assert.match(reason, /\(engine_calls_waiting_per_realm\)/);
	assert.equal(sent, false);
	assert.equal(limit.refused?.(), 1);
	assert.equal((await Promise.all(waiting)).length, 64);
});

test("a call that no process takes in time was not sent", async (t) => {
	const { ask, gate, host, journal } = await startSlow(t);
	const free = gate("free");
	const busy = Array.from({ length: 4 }, () => ask("a", free));
	await until(() => journal().length === 4);
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const refused = failure(ask());
	await nextTurn();
	t.mock.timers.tick(TIMING.queue_ms);
	const { reason, sent } = await refused;
	t.mock.timers.reset();
	assert.match(reason, /\(engine_calls_waiting_per_realm\)/);
	assert.deepEqual([sent, journal().length, host.limits[0]?.refused?.()], [false, 4, 1]);
	free.open();
	await Promise.all(busy);
});

test("a retired configuration: the call under way is answered, waiting ones are refused, the processes end", async (t) => {
	const { ask, gate, host, journal, state } = await startSlow(t);
	const pid = await ask();
	const other = await ask("b");
	const end = gate("end");
	const underWay = ask("a", end);
	await until(() => journal().length === 3);
	host.retire("a");
	assert.equal(state().processes, 1, "those that leave are not counted");
	end.open();
	assert.equal(await underWay, pid);
	await until(() => !isRunning(pid));
	assert.ok(isRunning(other));
	assert.notEqual(await ask(), pid, "the same key starts a new one");
});

test("calls that wait when their configuration is retired are refused, unsent", async (t) => {
	const { ask, host } = await startSlow(t);
	const waiting = failure(ask());
	host.retire("a");
	const { reason, sent } = await waiting;
	assert.match(reason, /\bconfiguration\b/);
	assert.equal(sent, false);
});

test("a process that nobody needs is ended; the next call starts another", async (t) => {
	const { ask, state } = await startSlow(t, { idle_ms: 50 });
	const pid = await ask();
	await until(() => state().processes === 0 && !isRunning(pid));
	assert.notEqual(await ask(), pid);
	assert.equal(state().last_failure, undefined);
});

test("a process that was killed from outside is replaced", async (t) => {
	const { ask, state } = await startSlow(t);
	const pid = await ask();
	// Long enough for the process to be idle in most runs; it is replaced in all of them.
	await delay(100);
	process.kill(pid, "SIGKILL");
	await until(() => state().processes === 0);
	assert.notEqual(await ask(), pid);
	assert.match(state().last_failure ?? "", /\bSIGKILL$/);
});

test("closing answers what is under way, refuses what comes later, and leaves no process", async (t) => {
	const { ask, gate, host, journal, state } = await startSlow(t);
	const pids = [await ask(), await ask("b")];
	const end = gate("end");
	const underWay = ask("a", end);
	await until(() => journal().length === 3);
	const closed = host.close();
	end.open();
	await closed;
	assert.equal(await underWay, pids[0]);
	assert.deepEqual(pids.filter(isRunning), []);
	assert.deepEqual(journal().slice(-2), ["exit", "exit"], "nothing had to be killed");
	const { reason, sent } = await failure(ask());
	assert.match(reason, /\bstopping$/);
	assert.deepEqual([sent, state().processes], [false, 0]);
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
	assert.match(reason, /\bno such engine$/);
	assert.equal(sent, false);
});
