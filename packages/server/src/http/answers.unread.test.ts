import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { MIB, makePieces, PIECE, serve, untilFull } from "../testing/answer-server.ts";
import { stays } from "../testing/stays.ts";
import { until } from "../testing/until.ts";

test("an answer that nobody reads is made only as far as the kernel takes it, and what it holds is counted", async (t) => {
	const { made, used, ignore } = await serve(t, (of) => makePieces(of, 10_000));
	for (let count = 0; count < 16; count++) ignore(`192.0.2.${count}`);
	await until(() => used("answer_bytes") === 8 * MIB);
	await untilFull(made);
	assert.ok(made.pieces * PIECE.length < 16 * 10 * MIB, `${made.pieces} pieces`);
	assert.equal(used("requests"), 0);
});

/** Stops timers of seconds, and leaves the scheduler's of milliseconds running. @returns a function that lets time pass */
function stopLongTimers(t: TestContext): (ms: number) => void {
	const { setTimeout: start, clearTimeout: stop } = globalThis;
	const stopped = new Map<unknown, { at: number; fire: () => void }>();
	let now = 0;
	t.mock.method(globalThis, "setTimeout", (fire: () => void, ms: number) => {
		if (ms < 1000) return start(fire, ms);
		const timer = start(() => undefined, ms).unref();
		stopped.set(timer, { at: now + ms, fire });
		return timer;
	});
	t.mock.method(globalThis, "clearTimeout", (timer: NodeJS.Timeout) => {
		stopped.delete(timer);
		stop(timer);
	});
	return (ms) => {
		now += ms;
		for (const [timer, { at, fire }] of stopped) if (at <= now && stopped.delete(timer)) fire();
	};
}

test("a reader has thirty seconds for each piece, then the answer is cut and all that it held is released", async (t) => {
	const { made, entries, used, ignore } = await serve(t, (of) => makePieces(of, 10_000));
	const pass = stopLongTimers(t);
	const reader = ignore("192.0.2.1");
	await untilFull(made);
	pass(29_999);
	const first = made.pieces;
	reader.resume();
	await until(() => made.pieces > first + 10);
	reader.pause();
	await untilFull(made);
	pass(29_999);
	await stays("each piece has its own time", () => made.returned === 0 && used("answer_bytes") === 0.5 * MIB);
	pass(1);
	await until(() => made.returned === 1);
	await until(() => used("answer_bytes") === 0);
	await once(reader.resume(), "close");
	assert.deepEqual(entries(), [], "that a reader is slow is nothing to tell");
});

test("a reader whose connection breaks is nothing to log", async (t) => {
	const { made, entries, used, ignore } = await serve(t, (of) => makePieces(of, 10_000));
	const reader = ignore("192.0.2.1");
	await untilFull(made);
	reader.resetAndDestroy();
	await until(() => made.returned === 1 && used("answer_bytes") === 0);
	assert.deepEqual(entries(), []);
});

test("one source has 16 MiB of answers on their way, others theirs; who leaves gives back", async (t) => {
	const { made, used, ignore, port } = await serve(t, (of) => makePieces(of, 10_000));
	const readers = Array.from({ length: 32 }, () => ignore("192.0.2.1"));
	await until(() => used("answer_bytes") === 16 * MIB);
	const refused = await new Promise<IncomingMessage>((resolve) =>
		get({ port, host: "127.0.0.1", headers: { "x-forwarded-for": "192.0.2.1" }, agent: false }, resolve),
	);
	assert.deepEqual([refused.statusCode, refused.headers["retry-after"]], [503, "5"]);
	assert.match(await readText(refused), /16 MiB \(answer_bytes_per_account\)/);
	ignore("192.0.2.2");
	await until(() => used("answer_bytes") === 16.5 * MIB);
	for (const reader of readers) reader.destroy();
	await until(() => used("answer_bytes") === 0.5 * MIB);
	// The refused one, too.
	await until(() => made.returned === 33);
});
