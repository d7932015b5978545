import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { get, request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import * as v from "valibot";
import { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import type { Actor } from "../policy/model.ts";
import { createAccountSemaphore } from "../semaphore.ts";
import { Streamed } from "../streamed.ts";
import { anActor } from "../testing/actor.ts";
import { anyConnections } from "../testing/connections.ts";
import { createTestLog } from "../testing/log.ts";
import { longestTurn } from "../testing/longest-turn.ts";
import { stays } from "../testing/stays.ts";
import { createTestSystem } from "../testing/system.ts";
import { until } from "../testing/until.ts";
import { createAdmission } from "./admission.ts";
import { Answers } from "./answers.ts";
import { createApp } from "./app.ts";
import { Bodies } from "./bodies.ts";
import { createHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import { publicRoute } from "./route.ts";

const MIB = 1024 * 1024;
const PIECE = "x".repeat(64 * 1024);

/** Pieces that a route made, answers that it released, and whether each was delivered. */
interface Made {
	pieces: number;
	returned: number;
	delivered?: boolean[];
}

/** Pieces, and the work of each in milliseconds. */
function makePieces(made: Made, count: number, { work = 0, fails = Number.POSITIVE_INFINITY } = {}): Streamed {
	async function* pieces() {
		try {
			for (let at = 0; at < count; at++) {
				if (at === fails) throw new AppError("forbidden", "not this one");
				for (const until = performance.now() + work; performance.now() < until; );
				made.pieces++;
				yield PIECE;
			}
		} finally {
			made.returned++;
		}
	}
	return new Streamed(pieces());
}

/** A server with one route that gives this answer, to anybody or to whom `identify` finds. */
async function serve(t: TestContext, answer: (made: Made) => unknown, identify?: () => Actor) {
	const delivered: boolean[] = [];
	const made = { pieces: 0, returned: 0, delivered };
	const newHeaders = createHeaders(createTestSystem());
	const limits = createLimits();
	const { log, entries } = createTestLog();
	const given = { method: "GET", path: "/", summary: "", status: 200, answer: v.unknown() } as const;
	const handle = async ({ onAnswered }: { onAnswered: (listener: (isDelivered: boolean) => void) => void }) => {
		onAnswered((isDelivered) => delivered.push(isDelivered));
		return answer(made);
	};
	const needs = {
		...{ log, newHeaders, metrics: { answered: () => undefined } },
		answers: new Answers({ log, limits }),
		bodies: new Bodies(limits),
		limits,
	};
	const app = createApp(
		{
			...needs,
			trusted_proxies: ["127.0.0.1"],
			isAltered: () => false,
			identify: async () => identify?.() ?? assert.fail("nobody"),
		},
		[{ ...publicRoute({ ...given, handle }), isPublic: identify === undefined }],
	);
	const admission = createAdmission({ newHeaders, limits }, ["127.0.0.1"]);
	const listener = await listen(
		{ app: app as never, newHeaders, admission, connections: anyConnections() },
		{ host: "127.0.0.1", port: 0 },
		undefined,
	);
	const sockets: Socket[] = [];
	t.after(() => {
		for (const socket of sockets) socket.destroy();
		return listener.close();
	});
	const { port } = listener.address;
	const used = (name: string) =>
		limits
			.all()
			.find((limit) => limit.name === name)
			?.used();
	/** Sends a request and reads nothing. */
	const ignore = (source: string) => {
		const socket = connect(port, "127.0.0.1").pause();
		socket.on("error", () => undefined);
		sockets.push(socket);
		socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${source}\r\n\r\n`);
		return socket;
	};
	return { made, entries, used, ignore, port };
}

async function read(port: number, method = "GET"): Promise<IncomingMessage & { text: string; isBroken: boolean }> {
	const request = httpRequest({ port, host: "127.0.0.1", method, agent: false }).end();
	const [response] = (await once(request, "response")) as [IncomingMessage];
	const chunks: Buffer[] = [];
	let isBroken = false;
	try {
		for await (const chunk of response) chunks.push(chunk as Buffer);
	} catch {
		isBroken = true;
	}
	return Object.assign(response, { text: Buffer.concat(chunks).toString(), isBroken });
}

/** Waits until no more pieces are made: the kernel's buffers are full, which only time shows. */
async function untilFull(made: { readonly pieces: number }): Promise<void> {
	for (let before = -1; before !== made.pieces || made.pieces === 0; await wait(200)) before = made.pieces;
}

test("what is streamed arrives whole, and what is small with its length", async (t) => {
	const large = await serve(t, (made) => makePieces(made, 100));
	const answer = await read(large.port);
	assert.deepEqual([answer.statusCode, answer.text.length, answer.isBroken], [200, 100 * PIECE.length, false]);
	assert.equal(answer.headers["transfer-encoding"], "chunked");
	assert.equal(answer.headers["content-type"], "application/json");
	const small = await serve(t, (made) => makePieces(made, 4));
	assert.equal((await read(small.port)).headers["content-length"], String(4 * PIECE.length));
	assert.equal(large.used("answer_bytes"), 0);
});

test("a long text or file is sent in pieces, with its length, byte by byte as it is", async (t) => {
	const text = `${"😀é\u0001".repeat(100_000)}`;
	for (const body of [text, Buffer.from(text)]) {
		const { port } = await serve(t, () => body);
		const answer = await read(port);
		assert.equal(answer.text, text);
		assert.equal(answer.headers["content-length"], String(Buffer.byteLength(text)));
	}
});

test("what is one write but not small is counted until it is out, and what is streamed with all that it holds", async () => {
	const limits = createLimits();
	const answers = new Answers({ log: createTestLog().log, limits });
	const used = () => limits.all()[0]?.used();
	const send = async (answer: string | Streamed) => {
		const outgoing = Object.assign(new EventEmitter(), {
			req: {},
			closed: false,
			destroyed: false,
			writeHead: () => undefined,
		});
		Object.assign(outgoing, { write: () => true, end: () => true, destroy: () => undefined });
		const head = { status: 200, headers: {} };
		await answers.send(outgoing as never, { person: "token", keys: ["ada"] }, head, answer);
		return outgoing;
	};
	await send("x".repeat(16 * 1024));
	assert.equal(used(), 0, "what is small");
	for (const [character, times] of [
		["x", 16 * 1024 + 1],
		["界", 80 * 1024],
		["界", 100 * 1024],
	] as const) {
		const whole = await send(character.repeat(times));
		assert.equal(used(), times * Buffer.byteLength(character), "by its bytes");
		whole.emit("close");
		assert.equal(used(), 0);
	}
	const made: Made = { pieces: 0, returned: 0 };
	const streamed = await send(new Streamed(makePieces(made, 10).pieces, 2 * MIB));
	assert.equal(used(), 2.5 * MIB);
	streamed.emit("close");
	assert.equal(used(), 0);
});

test("HEAD makes nothing of it", async (t) => {
	const { made, port } = await serve(t, (of) => makePieces(of, 100));
	const answer = await read(port, "HEAD");
	assert.deepEqual([answer.statusCode, answer.text, made.pieces], [200, "", 0]);
});

test("what fails before anything is sent is answered with its own status, later it breaks the answer", async (t) => {
	const early = await serve(t, (made) => makePieces(made, 100, { fails: 3 }));
	assert.equal((await read(early.port)).statusCode, 403);
	await until(() => early.made.delivered.length > 0);
	assert.deepEqual(early.made.delivered, [false], "the refusal is none of it");
	const late = await serve(t, (made) => makePieces(made, 100, { fails: 50 }));
	const answer = await read(late.port);
	assert.deepEqual([answer.statusCode, answer.isBroken], [200, true]);
	assert.deepEqual(
		late.entries().map(({ event }) => event),
		["answer.cut"],
	);
	assert.equal(late.used("answer_bytes"), 0);
});

test("an answer that nobody reads is made only as far as the kernel takes it, and what it holds is counted", async (t) => {
	const { made, used, ignore } = await serve(t, (of) => makePieces(of, 10_000));
	for (let count = 0; count < 16; count++) ignore(`192.0.2.${count}`);
	await until(() => used("answer_bytes") === 8 * MIB);
	await untilFull(made);
	assert.ok(made.pieces * PIECE.length < 16 * 10 * MIB, `${made.pieces} pieces`);
	assert.equal(used("requests"), 0);
});

test("a reader has thirty seconds for each piece, then the answer is cut and all that it held is released", async (t) => {
	const { made, entries, used, ignore } = await serve(t, (of) => makePieces(of, 10_000));
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const reader = ignore("192.0.2.1");
	await untilFull(made);
	t.mock.timers.tick(29_999);
	const first = made.pieces;
	reader.resume();
	await until(() => made.pieces > first + 10);
	reader.pause();
	await untilFull(made);
	t.mock.timers.tick(29_999);
	await stays("each piece has its own time", () => made.returned === 0 && used("answer_bytes") === 0.5 * MIB);
	t.mock.timers.tick(1);
	await until(() => made.returned === 1);
	await until(() => used("answer_bytes") === 0);
	await once(reader.resume(), "close");
	assert.deepEqual(entries(), [], "that a reader is slow is nothing to tell");
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

test("the answers to one account's machines are counted together", async (t) => {
	let machines = 0;
	const identify = () =>
		anActor({
			...{ user_id: `machine ${++machines}`, token_id: `token ${machines}`, payer: "ada" },
			...{ machine: { name: "", limits: "" }, realm_id: `realm ${machines}` },
		});
	const { used, ignore } = await serve(t, (of) => makePieces(of, 10_000), identify);
	for (let count = 0; count < 4; count++) ignore("192.0.2.1");
	await until(() => used("answer_bytes") === 2 * MIB);
	assert.equal(used("answer_bytes_per_account"), 2 * MIB);
});

test("work that waits for its account's turn is not begun once its client has gone", async (t) => {
	const semaphore = createAccountSemaphore({ name: "questions", what: "questions", each: 1, waiting: 2, hint: "" });
	const end = Promise.withResolvers<string>();
	let begun = 0;
	const work = () => {
		begun++;
		return end.promise;
	};
	const { ignore } = await serve(t, () => semaphore.run(work, anActor()));
	ignore("192.0.2.1");
	await until(() => begun === 1);
	const waiting = ignore("192.0.2.1");
	await until(() => semaphore.limit.used() === 1);
	waiting.destroy();
	await until(() => semaphore.limit.used() === 0);
	end.resolve("done");
	await semaphore.run(async () => "next", anActor());
	assert.equal(begun, 1);
});

test("many long answers to quick readers leave everybody else their turn", async (t) => {
	const { port } = await serve(t, (made) => makePieces(made, 60, { work: 1 }));
	const watch = longestTurn();
	const readers = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").resume());
	for (const reader of readers) reader.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	await Promise.all(readers.map((reader) => once(reader, "end")));
	const { longest_ms, turns } = watch.stop();
	assert.ok(turns > 40, `${turns} turns`);
	assert.ok(longest_ms < 50, `a turn of ${longest_ms} ms`);
});
