/* A misbehaving engine harms only itself: each does one thing wrong while the test asks its neighbour and the rest of the API. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { MALFORMED } from "../../../packages/server/src/engines/host/fixtures/malformed.ts";
import type { Answer } from "../../harness/client.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { installHostile } from "./hostile-engines.ts";
import { childrenOf, descriptorsOf, isRunning, residentBytes } from "./processes.ts";

const EXITS = ["before", "during"].flatMap((moment) =>
	([0, 1, 137] as const).map((status) => ({ type: `exits-${moment}-${status}`, moment, status })),
);
const AFTER = ([0, 1, 137] as const).map((status) => ({ type: `exits-after-${status}`, moment: "after", status }));
const MALFORMED_TYPES = MALFORMED.map(([name, line], at) => ({ type: `malformed-${at}`, name, line }));
const FLOODS = ["lines", "binary", "line"];

let folder: string;
let world: EngineWorld;
/** The server's resources before any engine misbehaved. */
let quiet: { descriptors: number; memory: number };

before(async () => {
	folder = await mkdtemp(join(tmpdir(), "svc-hostile-"));
	const typed = (types: readonly { type: string }[], script: string) =>
		Object.fromEntries(types.map(({ type }) => [type, `hostile/${script}`]));
	await installHostile(folder, {
		neighbour: "echo.mjs",
		...Object.fromEntries(
			["banner", "byte-by-byte", "chatty", "deaf", "endless-line", "leaves-child", "slow"]
				.concat(["twice", "twice-blocking", "refuses-to-start"])
				.map((name) => [name, `hostile/${name}.mjs`]),
		),
		"one-shot": "hostile/one-shot.sh",
		crashing: "hostile/crashing.sh",
		"slow-validate": "hostile/slow.mjs",
		...typed([...EXITS, ...AFTER], "exits.mjs"),
		...typed(MALFORMED_TYPES, "verbatim.mjs"),
		...Object.fromEntries(FLOODS.map((kind) => [`floods-${kind}`, "hostile/endless-stderr.mjs"])),
	});
	world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: folder } });
	await misbehave("neighbour", {});
	quiet = { descriptors: descriptorsOf(world.server.pid), memory: await residentBytes(world.client) };
});
after(async () => {
	await world.close();
	await rm(folder, { recursive: true });
});

/** Asks an engine, and at the same time its neighbour and the rest of the API, which must answer as usual. */
async function misbehave<T = Record<string, unknown>>(
	type: string,
	params: object,
	what: "generate" | "validate" = "generate",
): Promise<Answer<T>> {
	const { token } = world.admin;
	const [answer, ...others] = await Promise.all([
		world[what]<T>(type, params),
		world.generate("neighbour", {}),
		world.client.get("/realms", { token }),
		world.client.get("/health"),
	]);
	for (const other of others) ok(other);
	return answer;
}

/** Fails unless the server gave the engine up for this reason and says so. */
function givenUp(answer: Answer, type: string, reason: RegExp): void {
	refused(answer, 503, "engine_unavailable");
	const { message } = (answer.body as { error: { message: string } }).error;
	assert.ok(message.startsWith(`engine ${type} `), message);
	assert.match(message, reason);
}

/** Waits until an engine has no process. */
async function ended(wanted: string): Promise<void> {
	await eventually(`${wanted} has no process`, async () =>
		(await world.details()).engines.some(({ type, processes }) => type === wanted && processes === 0),
	);
}

/** Makes an engine record its requests; returns a function that reads the record. */
async function keepJournal(type: string): Promise<() => string[]> {
	const file = join(folder, `${type}.journal`);
	ok(await world.configure(type, { journal: file }));
	return () =>
		existsSync(file)
			? readFileSync(file, "utf8")
					.trim()
					.split("\n")
					.filter((method) => method !== "ping")
			: [];
}

const VIOLATIONS: [behaviour: string, type: string, params: object, reason: RegExp][] = [
	["writes a line without end", "endless-line", {}, /\b1048576 bytes$/],
	["writes a banner first", "banner", {}, /\bprotocol\b|\brequest\b/],
	["logs to standard output", "chatty", { moment: "before" }, /\bprotocol\b|\bmore than one line$/],
	["answers twice in one write", "twice", {}, /\bmore than one line$/],
	["is killed over a request", "crashing", {}, /\bSIGKILL$/],
	["cannot start", "refuses-to-start", {}, /\bstatus 1: password undefined is\\u\{1b\}\[31m/],
];
for (const [behaviour, type, params, reason] of VIOLATIONS) {
	test(`an engine that ${behaviour} is ended, and nothing else`, async () => {
		givenUp(await misbehave(type, params), type, reason);
	});
}

for (const { type, name, line } of MALFORMED_TYPES) {
	test(`an answer that is ${name} is nobody's, and the next process answers`, async () => {
		const base64 = Buffer.concat([Buffer.from(line), Buffer.from("\n")]).toString("base64");
		givenUp(await misbehave(type, { base64 }), type, /\bprotocol\b/);
		const whole = Buffer.from('{"data":{"is":"well"}}\n').toString("base64");
		assert.deepEqual(ok(await misbehave(type, { base64: whole })), { is: "well" });
	});
}

test("an answer that comes byte by byte is an answer", async () => {
	assert.deepEqual(ok(await misbehave("byte-by-byte", { of: "a" })), { of: "a" });
});

/** A busy server reads two lines written 10 ms apart as one write: then it does not believe the first one either. */
function ownOrNone(answer: Answer, type: string, own: object): void {
	if (answer.status === 200) assert.deepEqual(answer.body, own);
	else givenUp(answer, type, /\bmore than one line$/);
}

test("a second answer 10 ms later is nobody's", async () => {
	for (const caller of ["a", "b"]) {
		ownOrNone(await misbehave("twice", { of: caller, wait_ms: 10 }), "twice", { of: caller });
		// While the next request is under way, a line cannot show that it answers the previous one: so nobody asks until the line has come.
		await ended("twice");
	}
});

test("a second answer does not reach the next caller of the same process", async () => {
	const ask = async (of: string) => ownOrNone(await misbehave("twice-blocking", { of }), "twice-blocking", { of });
	await Promise.all(["a", "b", "c", "d"].map(ask));
});

test("what an engine writes unasked ends its process, and the next one answers", async () => {
	ownOrNone(await misbehave("chatty", { moment: "after" }), "chatty", { moment: "after" });
	await ended("chatty");
	assert.deepEqual(ok(await misbehave("chatty", { moment: "never" })), { moment: "never" });
});

for (const { type, moment, status } of EXITS) {
	test(`an engine that ends with ${status} ${moment} its answer was asked once, and the next process answers`, async () => {
		const journal = await keepJournal(type);
		const how = status === 137 ? "SIGKILL" : `status ${status}`;
		givenUp(await misbehave(type, { moment, status }), type, new RegExp(`\\b${how}$`));
		assert.deepEqual(journal(), ["generate"]);
		assert.deepEqual(ok(await misbehave(type, { moment: "after", status: 0 })), { moment: "after" });
	});
}

for (const { type, moment, status } of AFTER) {
	test(`an engine that ends with ${status} after its answer has answered`, async () => {
		const journal = await keepJournal(type);
		for (let round = 0; round < 2; round++) {
			assert.deepEqual(ok(await misbehave(type, { moment, status })), { moment });
			await ended(type);
		}
		assert.deepEqual(journal(), ["generate", "generate"]);
	});
}

test("an engine that ends after each answer is started for each", async () => {
	const pids = new Set<unknown>();
	for (let round = 0; round < 5; round++) pids.add(ok(await misbehave("one-shot", {})).pid);
	assert.equal(pids.size, 5);
});

test("an engine that fails again and again is left alone, which anybody can see", async () => {
	await Promise.all(Array.from({ length: 6 }, () => misbehave("crashing", {})));
	givenUp(await misbehave("crashing", {}), "crashing", /\bsuspended\b/);
	const found = (await world.details()).engines.find(({ type }) => type === "crashing") ?? assert.fail();
	assert.deepEqual([found.status, found.breaker, found.refused_realms], ["healthy", "closed", 1], "other realms may");
	const { text } = await world.client.send("GET", "/metrics");
	assert.match(text, /^svc_engine_breaker_open\{engine="crashing"\} 0$/m);
	assert.match(text, /^svc_engine_refused_realms\{engine="crashing"\} 1$/m);
	assert.match(text, /^svc_engine_refused_realms\{engine="neighbour"\} 0$/m);
});

for (const detached of [false, true]) {
	test(`a child that keeps the streams open holds up nothing${detached ? ", though it left the group" : ""}`, async () => {
		const known = world.server.stderr().length;
		givenUp(await misbehave("leaves-child", { detached }), "leaves-child", /\bstatus 3$/);
		const child = Number(/"message":"child (\d+)"/.exec(world.server.stderr().slice(known))?.[1]);
		assert.ok(child > 1, String(child));
		if (detached) process.kill(child, "SIGKILL");
		await eventually("the child is gone", () => !isRunning(child));
	});
}

test("an engine that never reads is abandoned, and so is one that is late: validate is sent once more, generate is not", async () => {
	const [generated, validated] = [await keepJournal("slow"), await keepJournal("slow-validate")];
	const late = { of: "a", wait_ms: 5500 };
	const [deaf, generate, validate] = await Promise.all([
		misbehave("deaf", { text: "x".repeat(254 * 1024) }),
		misbehave("slow", late),
		misbehave("slow-validate", late, "validate"),
	]);
	givenUp(deaf, "deaf", /\bread\b.* 2 s$/);
	givenUp(generate, "slow", /\banswer\b.* 5 s$/);
	givenUp(validate, "slow-validate", /\banswer\b.* 5 s$/);
	assert.deepEqual([generated(), validated()], [["generate"], ["validate", "validate"]]);
	assert.equal(ok(await misbehave("slow", { of: "b", wait_ms: 0 })).of, "b", "the late answer is nobody's");
});

for (const kind of FLOODS) {
	test(`an engine that floods standard error with ${kind} answers, and the log is bounded`, async () => {
		ok(await world.configure(`floods-${kind}`, { kind }));
		const known = world.server.stderr().length;
		const start = performance.now();
		while (performance.now() - start < 1000) ok(await misbehave(`floods-${kind}`, {}));
		// The last line may be incomplete.
		const lines = world.server.stderr().slice(known).split("\n").slice(0, -1);
		const own = lines.filter((line) => {
			const { event, engine } = JSON.parse(line);
			return event === "engine.stderr" && engine === `floods-${kind}`;
		});
		if (kind !== "line") assert.ok(own.length > 0, "some of it is in the log");
		const windows = Math.ceil((performance.now() - start) / 1000) + 1;
		assert.ok(own.length <= windows * 100, `${own.length} lines in ${windows} s`);
		assert.ok(own.every((line) => line.length < 64 * 1024));
		ok(await world.client.send("DELETE", `/api/v1/engines/floods-${kind}/config`, { token: world.admin.token }));
	});
}

test("afterwards there are no zombies, no descriptors and no memory more than before, and the log is plain text", async () => {
	const { server, client } = world;
	await eventually("no child waits to be noticed", () => childrenOf(server.pid).every(({ state }) => state !== "Z"));
	let running = 0;
	await eventually("every child is an engine's process", async () => {
		running = (await world.details()).engines.reduce((sum, { processes }) => sum + processes, 0);
		return childrenOf(server.pid).length === running;
	});
	// Each process has three pipes; this file's own connections vary.
	const descriptors = descriptorsOf(server.pid) - 3 * running;
	assert.ok(descriptors <= quiet.descriptors + 32, `${descriptors} descriptors after ${quiet.descriptors}`);
	// The floods moved gigabytes; garbage that the collector has not come to yet, and its room, may stay.
	await eventually("memory is as before", async () => (await residentBytes(client)) - quiet.memory < 128 * 1024 * 1024);
	for (const line of server.stderr().trim().split("\n")) JSON.parse(line);
	assert.doesNotMatch(server.stderr(), /[^\P{Cc}\n]/u);
});
