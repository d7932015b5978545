import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { passTime } from "../../testing/monotonic.ts";
import { until } from "../../testing/until.ts";
import { MAX_FAILURES_OF_PAYER } from "./failures.ts";
import type { Timing } from "./model.ts";
import { failure, isRunning, scripted, settings, startHost } from "./testing.ts";

/** Starts a host with one hostile engine, which records its requests in a journal. */
async function startHostile(t: TestContext, script: string, timing: Partial<Timing> = {}, environment = {}) {
	const made = await startHost(t, [scripted(`hostile/${script}`)], timing);
	const journal = join(made.folder, "journal");
	const started = settings({
		environment: { SVC_TEST_JOURNAL: journal, ...environment },
		secrets: ["CANARY-password"],
	});
	const type = script.replace(/\.\w+$/, "");
	return {
		...{ ...made, started, type },
		ask: (method: "generate" | "validate" | "describe", params = {}) => made.host.call(type, started, method, params),
		journal: () => (existsSync(journal) ? readFileSync(journal, "utf8").trim().split("\n") : []),
		state: () => made.host.state()[0] ?? assert.fail(),
	};
}

const HOW = { 0: "status 0", 1: "status 1", 137: "SIGKILL" } as const;

for (const [status, how] of Object.entries(HOW)) {
	for (const moment of ["before", "during"]) {
		test(`an engine that ends with ${how} ${moment} its answer: generate is not sent again`, async (t) => {
			const { ask, journal, state } = await startHostile(t, "exits.mjs");
			const { reason, sent } = await failure(ask("generate", { moment, status: Number(status) }));
			assert.ok(reason.endsWith(` ${how}`), reason);
			assert.equal(sent, true);
			assert.deepEqual(journal(), ["generate"]);
			assert.equal(state().last_failure, reason);
			assert.ok("data" in (await ask("describe")), "a new process answers");
		});
	}

	test(`an engine that ends with ${how} after its answer has answered`, async (t) => {
		const { ask, journal, state } = await startHostile(t, "exits.mjs");
		for (let round = 0; round < 2; round++) {
			assert.deepEqual(await ask("generate", { moment: "after", status: Number(status) }), {
				data: { moment: "after" },
			});
			await until(() => state().processes === 0);
		}
		assert.deepEqual(journal(), ["generate", "generate"]);
		const { last_failure } = state();
		assert.ok(status === "0" ? last_failure === undefined : last_failure?.endsWith(` ${how}`), last_failure ?? "");
	});
}

test("a pause that ends while the pool measures it holds up no call", async (t) => {
	const { ask, state } = await startHostile(t, "exits.mjs", { pause_ms: 8000, queue_ms: 15_000 });
	await failure(ask("generate", { moment: "before", status: 1 }));
	await until(() => state().processes === 0);
	const now = performance.now.bind(performance);
	let reads = 0;
	// The pause outlasts the first measurement, with four readings of the clock, and is over at the second.
	t.mock.method(performance, "now", () => now() + 1500 * reads++);
	assert.ok("data" in (await ask("generate", { moment: "after", status: 0 })));
});

test("anything but generate is sent once more, to a fresh process, when the first died over it", async (t) => {
	const { ask, journal } = await startHostile(t, "exits.mjs");
	const { sent } = await failure(ask("validate", { moment: "before", status: 1 }));
	assert.equal(sent, true);
	assert.deepEqual(journal(), ["validate", "validate"]);
});

test("generate is sent once when it is not answered in time; validate is sent again; the late answer is nobody's", async (t) => {
	const { ask, journal, state } = await startHostile(t, "slow.mjs", { call_ms: 1000 });
	const { reason, sent } = await failure(ask("generate", { of: "a", wait_ms: 1500 }));
	assert.deepEqual([reason, sent, journal()], ["it did not answer within 1 s", true, ["generate"]]);
	assert.equal((await answered(ask("generate", { of: "b", wait_ms: 0 }))).of, "b");
	await failure(ask("validate", { of: "c", wait_ms: 1500 }));
	assert.deepEqual(journal(), ["generate", "generate", "validate", "validate"]);
	assert.equal((await answered(ask("validate", { of: "d", wait_ms: 0 }))).of, "d");
	assert.equal(state().processes, 1);
});

test("an engine that talks to a system of its own is waited for longer", async (t) => {
	const engine = { ...scripted("hostile/slow.mjs"), network: true };
	const { host, folder } = await startHost(t, [engine], { call_ms: 50, network_call_ms: 5000 });
	const started = settings({ environment: { SVC_TEST_JOURNAL: join(folder, "journal") } });
	assert.equal((await answered(host.call("slow", started, "generate", { of: "a", wait_ms: 150 }))).of, "a");
});

test("a process that stops reading is ended, however large its requests are, and nothing piles up", async (t) => {
	const { ask } = await startHostile(t, "deaf.mjs", { write_ms: 200, call_ms: 5000 });
	const params = { text: "x".repeat(255 * 1024) };
	const { reason, sent } = await failure(ask("generate", params));
	assert.deepEqual([reason, sent], ["it did not read its request within 0.2 s", true]);
	const before = process.memoryUsage().arrayBuffers;
	for (let round = 0; round < 3; round++) await failure(ask("generate", params));
	assert.ok(process.memoryUsage().arrayBuffers - before < 4 * 1024 * 1024);
});

test("a request of more than 256 KiB is refused before it is sent", async (t) => {
	const { ask, state } = await startHostile(t, "exits.mjs");
	const { reason, sent } = await failure(ask("generate", { text: "x".repeat(256 * 1024) }));
	assert.deepEqual([reason, sent], ["the request is longer than 262144 bytes", false]);
	assert.equal(state().processes, 0);
});

test("why an engine could not start is in the reason: bounded, masked, control characters visible", async (t) => {
	const { ask, state } = await startHostile(t, "refuses-to-start.mjs", {}, { SVC_TEST_PASSWORD: "CANARY-password" });
	const { reason, sent } = await failure(ask("generate"));
	assert.equal(sent, false);
	assert.match(reason, /\bstatus 1: password \*{8} is\\u\{1b\}\[31m wrong x+/);
	assert.ok(reason.length < 600, `${reason.length} characters`);
	assert.equal(state().last_failure, reason);
});

for (const [file, said] of [
	["/bin/true", /\bstatus 0$/],
	["/nowhere/engine", /\bstatus 127: .*\/nowhere\/engine|\(ENOENT\)$/],
] as const) {
	test(`an engine whose program is ${file} cannot be reached, and the server keeps running`, async (t) => {
		const engine = { ...scripted("echo.mjs"), launch: { file, arguments: [] } };
		const { host } = await startHost(t, [engine]);
		const { reason, sent } = await failure(host.call("echo", settings(), "generate", {}));
		assert.match(reason, said);
		assert.equal(sent, false);
	});
}

for (const [name, value, code] of [
	["no process can have", "a\0b", "ERR_INVALID_ARG_VALUE"],
	["is too large for a process", "x".repeat(4 * 1024 * 1024), "E2BIG"],
]) {
	test(`a variable that ${name} makes the engine unavailable, and the server keeps running`, async (t) => {
		const { host } = await startHost(t, [scripted("echo.mjs")]);
		const { reason, sent } = await failure(
			host.call("echo", settings({ environment: { SVC_TEST_A: value ?? "" } }), "generate", {}),
		);
		assert.ok(reason.endsWith(`(${code})`), reason);
		assert.equal(sent, false);
		assert.ok("data" in (await host.call("echo", settings({ key: "b" }), "generate", {})));
	});
}

test("after the sixth failure within a minute calls are refused immediately, until one attempt is answered", async (t) => {
	const { ask, journal, state, log } = await startHostile(t, "exits.mjs", { pause_ms: 1, probe_ms: 30_000 });
	const pass = passTime(t);
	for (let round = 0; round < 6; round++) await failure(ask("generate", { moment: "before", status: 1 }));
	assert.deepEqual([state().breaker, state().refused_realms], ["closed", 1]);
	const { reason, sent } = await failure(ask("generate", { moment: "before", status: 1 }));
	assert.match(reason, /\bsuspended\b.*\bstatus 1$/);
	assert.deepEqual([sent, journal().length], [false, 6]);
	assert.equal(log.entries().filter(({ event }) => event === "engine.breaker.open").length, 1);
	pass(30_000);
	const [probe, other] = await Promise.allSettled([ask("describe"), ask("describe")]);
	assert.deepEqual([probe.status, other.status], ["fulfilled", "rejected"], "one attempt at a time");
	assert.equal(state().refused_realms, 0);
});

test("a failed attempt keeps the breaker open", async (t) => {
	const { ask, state, journal } = await startHostile(t, "exits.mjs", { pause_ms: 1, probe_ms: 30_000 });
	const pass = passTime(t);
	for (let round = 0; round < 6; round++) await failure(ask("generate", { moment: "before", status: 1 }));
	pass(30_000);
	await failure(ask("generate", { moment: "before", status: 1 }));
	assert.match((await failure(ask("generate"))).reason, /suspended/);
	assert.deepEqual([state().refused_realms, journal().length], [1, 7]);
});

test("an account that crashes an engine in many realms is refused it in all, with every configuration, and nobody else is", async (t) => {
	const { host, journal, log, started, type } = await startHostile(t, "exits.mjs", { pause_ms: 1, pace_ms: 1 });
	const other = { ...started, key: "another configuration" };
	const pass = passTime(t);
	const crash = (realm: number, by = started) =>
		failure(host.call(type, by, "generate", { moment: "before", status: 1 }, `realm ${realm}`, "ada"));
	for (let realm = 0; realm < MAX_FAILURES_OF_PAYER; realm++) await crash(realm, realm % 2 ? other : started);
	for (const by of [started, other])
		assert.match((await crash(99, by)).reason, /\bsuspended\b.*\(engine_failures_per_account\)/);
	assert.equal(journal().length, MAX_FAILURES_OF_PAYER);
	const opened = log.entries().filter(({ event }) => event === "engine.breaker.open");
	assert.deepEqual(
		opened.map(({ user_id }) => user_id),
		["ada"],
	);
	const describe = (realm: number, payer: string) => host.call(type, started, "describe", {}, `realm ${realm}`, payer);
	for (const realm of [0, 99]) assert.ok("data" in (await describe(realm, "bob")));
	await failure(describe(99, "ada"));
	pass(60_000);
	assert.ok("data" in (await describe(99, "ada")));
});

test("an engine that exits with status 0 after each answer is started for each call, and that is no failure", async (t) => {
	const { ask, journal, state, log } = await startHostile(t, "one-shot.sh");
	const answers = [];
	for (let round = 0; round < 10; round++) answers.push(await answered(ask("generate")));
	assert.equal(new Set(answers.map(({ pid }) => pid)).size, 10);
	assert.equal(journal().length, 10);
	const calls = Array.from({ length: 20 }, () => answered(ask("generate")));
	const counts = new Set<number>();
	for (const call of calls) void call.then(() => counts.add(state().processes));
	const together = await Promise.all(calls);
	assert.ok(Math.max(...counts) <= 4, [...counts].join());
	assert.equal(new Set(together.map(({ pid }) => pid)).size, 20);
	await until(() => state().processes === 0);
	assert.deepEqual([state().last_failure, log.lines], [undefined, []]);
});

test("what a process wrote before its exit is read, also where the pause for that is over before this thread can read", async (t) => {
	const { ask } = await startHostile(t, "one-shot.sh", { drain_ms: 0 });
	// When processes exit together, this thread notices some exits one turn before it would read their output.
	for (let round = 0; round < 20; round++) {
		await Promise.all(Array.from({ length: 10 }, async () => assert.ok((await answered(ask("generate"))).pid)));
	}
});

for (const detached of [false, true]) {
	test(`a child that keeps the streams open holds up nothing${detached ? ", though it left the group" : " and is ended too"}`, async (t) => {
		const { ask, log, state } = await startHostile(t, "leaves-child.mjs");
		const before = readdirSync("/proc/self/fd").length;
		const { reason, sent } = await failure(ask("generate", { detached }));
		assert.deepEqual([reason, sent], ["the process exited with status 3", true]);
		assert.equal(state().processes, 0);
		const said = log.entries().find(({ event }) => event === "engine.stderr")?.message;
		const child = Number(String(said).replace("child ", ""));
		assert.ok(child > 1, String(said));
		await until(() => readdirSync("/proc/self/fd").length <= before);
		if (detached) process.kill(child, "SIGKILL");
		await until(() => !isRunning(child));
	});
}

async function answered(call: Promise<unknown>): Promise<Record<string, unknown>> {
	const { data } = (await call) as { data: Record<string, unknown> };
	return data;
}
