import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { passTime } from "../testing/monotonic.ts";
import { Bodies, MAX_BODY_BYTES, readBody } from "./bodies.ts";

const KIB = 1024;
const BOUNDS = { person: 256 * KIB, account: 256 * KIB, all: 512 * KIB, cut_ms: 60_000 };

/** Makes bodies that arrive piece by piece. */
function setUp(bounds: Partial<typeof BOUNDS> = {}) {
	const limits = createLimits();
	const bodies = new Bodies(limits, { ...BOUNDS, ...bounds });
	const used = () => Promise.all(limits.all().map((limit) => limit.used()));
	const begin = (ip: string, understand: (bytes: Buffer) => unknown = (bytes) => bytes.length) => {
		const stream = new Readable({ read: () => undefined });
		const request = Object.assign(stream, { headers: {}, complete: false }) as unknown as IncomingMessage;
		const read = readBody(request, bodies.holderFor(ip), MAX_BODY_BYTES, understand).catch((error: unknown) => error);
		return {
			read,
			async send(bytes: number) {
				stream.push(Buffer.alloc(bytes, "x"));
				await nextTurn();
			},
			async end() {
				stream.push(null);
				return read;
			},
		};
	};
	return { begin, used, limits };
}

const isRefused = (error: unknown) =>
	error instanceof AppError &&
	error.code === "overloaded" &&
	/\(body_bytes\w*[,)]/.test(error.message) &&
	error.headers["retry-after"] === "5" &&
	error.headers.connection === "close";

test("all lines of one IPv6 site together may hold as much as one source", async () => {
	const { begin } = setUp();
	const [line, another, elsewhere] = ["2001:db8:7:1::1", "2001:db8:7:2::1", "2001:db8:8:1::1"].map((ip) => begin(ip));
	assert.ok(line && another && elsewhere);
	await line.send(250 * KIB);
	await another.send(10 * KIB);
	assert.ok(isRefused(await another.read));
	await elsewhere.send(10 * KIB);
	assert.equal(await elsewhere.end(), 10 * KIB);
	await line.end();
});

test("a source's bodies hold so much together until they have arrived and are understood; then there is room again", async () => {
	const { begin, used } = setUp();
	const held = Promise.withResolvers<void>();
	const slow = begin("10.0.0.1", async (bytes) => {
		await held.promise;
		return bytes.length;
	});
	await slow.send(250 * KIB);
	assert.deepEqual(await used(), [256 * KIB, 256 * KIB]);
	const second = begin("10.0.0.1");
	await second.send(1);
	assert.ok(isRefused(await second.read));
	assert.match(String(await second.read), /\(body_bytes_per_source\)/);
	const other = begin("10.0.0.2");
	await other.send(120 * KIB);
	assert.equal(await other.end(), 120 * KIB);
	const ending = slow.end();
	await nextTurn();
	assert.deepEqual(await used(), [256 * KIB, 256 * KIB], "it is not understood yet");
	held.resolve();
	assert.equal(await ending, 250 * KIB);
	assert.deepEqual(await used(), [0, 0]);
});

test("however small the chunks are that a body comes in, it holds what it is, in whole pieces", async () => {
	const { begin, used } = setUp();
	const body = begin("10.0.0.1", (bytes) => bytes.toString());
	for (let count = 0; count < 2000; count++) await body.send(1);
	assert.deepEqual(await used(), [64 * KIB, 64 * KIB]);
	await body.send(64 * KIB);
	assert.deepEqual(await used(), [128 * KIB, 128 * KIB]);
	assert.equal(await body.end(), "x".repeat(2000 + 64 * KIB));
});

test("when bodies of all sources hold too much, the oldest of the source that holds most is cut, once it has made no progress for long", async (t) => {
	const pass = passTime(t);
	const { begin, used, limits } = setUp();
	const large = begin("10.0.0.1");
	const small = begin("10.0.0.1");
	await large.send(192 * KIB);
	await small.send(1);
	const others = [begin("10.0.0.2"), begin("10.0.0.3")] as const;
	await others[0].send(128 * KIB);
	await others[1].send(64 * KIB);
	const early = begin("10.0.0.4");
	await early.send(1);
	const refused = await early.read;
	assert.ok(isRefused(refused), "nobody took long so far");
	assert.match(String(refused), /\(body_bytes\)/);
	pass(BOUNDS.cut_ms);
	const late = begin("10.0.0.4");
	await late.send(1);
	assert.ok(isRefused(await large.read));
	assert.equal((await used())[0], (64 + 192 + 64) * KIB);
	assert.equal(await late.end(), 1);
	assert.equal(await small.end(), 1);
	assert.deepEqual([await others[0].end(), await others[1].end()], [128 * KIB, 64 * KIB]);
	assert.deepEqual(await used(), [0, 0]);
	assert.equal(limits.all()[0]?.refused?.(), 2);
});

test("a body that arrives slowly is not cut, however old it is", async (t) => {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	const { begin } = setUp();
	const steady = begin("10.0.0.1");
	await steady.send(64 * KIB);
	const stuck = [begin("10.0.0.2"), begin("10.0.0.3")];
	for (const body of stuck) await body.send(128 * KIB);
	now += BOUNDS.cut_ms - 1;
	await steady.send(64 * KIB);
	const recent = begin("10.0.0.4");
	await recent.send(64 * KIB);
	now += 1;
	const late = begin("10.0.0.5");
	await late.send(64 * KIB);
	assert.ok(isRefused(await stuck[0]?.read));
	for (const body of [recent, late]) assert.equal(await body.end(), 64 * KIB);
	assert.equal(await steady.end(), 128 * KIB);
	await stuck[1]?.end();
});

test("four sources leave room for the bodies of others immediately", async () => {
	const { begin } = setUp({ account: 1024 * KIB, all: 4096 * KIB });
	const greedy = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"].flatMap((ip) => [begin(ip), begin(ip)]);
	for (let piece = 0; piece < 8; piece++) for (const body of greedy) await body.send(64 * KIB);
	const other = begin("10.0.0.5");
	await other.send(250 * KIB);
	assert.equal(await other.end(), 250 * KIB);
	await Promise.all(greedy.map((body) => body.end()));
});

test("a body that is refused, or breaks off, gives back what it held", async () => {
	const { begin, used } = setUp({ person: 4096 * KIB, account: 4096 * KIB, all: 8192 * KIB });
	const long = begin("10.0.0.1");
	await long.send(MAX_BODY_BYTES);
	await long.send(1);
	const refused = await long.read;
	assert.ok(refused instanceof AppError && refused.code === "payload_too_large");
	const failing = begin("10.0.0.1", () => {
		throw new AppError("invalid_json", "no");
	});
	await failing.send(10);
	assert.ok((await failing.end()) instanceof AppError);
	assert.deepEqual(await used(), [0, 0]);
});

test("unfinished bodies of one source hold 16 MiB, those of all 64 MiB, and one of 5 s makes room for another", (t) => {
	let now = 0;
	t.mock.method(performance, "now", () => now);
	const bodies = new Bodies(createLimits());
	const cut: string[] = [];
	const hold = (ip: string) => bodies.holderFor(ip)(1024 * KIB, () => cut.push(ip));
	for (let count = 0; count < 16; count++) hold("10.0.0.1");
	assert.throws(() => hold("10.0.0.1"), / 16 MiB \(body_bytes_per_source\)/);
	// Each leaves as much free as it takes: the last MiB stays.
	for (let count = 1; count < 48; count++) hold(`10.0.1.${count}`);
	now = 4999;
	assert.throws(() => hold("10.0.0.5"), / 64 MiB \(body_bytes\)/);
	now = 5000;
	hold("10.0.0.5");
	assert.deepEqual(cut, ["10.0.0.1"]);
});
