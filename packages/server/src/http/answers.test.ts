import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { createLimits } from "../limits.ts";
import { createAccountSemaphore } from "../semaphore.ts";
import { Streamed } from "../streamed.ts";
import { anActor } from "../testing/actor.ts";
import { type Made, MIB, makePieces, PIECE, serve } from "../testing/answer-server.ts";
import { createTestLog } from "../testing/log.ts";
import { longestTurn } from "../testing/longest-turn.ts";
import { until } from "../testing/until.ts";
import { Answers } from "./answers.ts";

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
		const close = () => {
			Object.assign(outgoing, { closed: true, destroyed: true });
			outgoing.emit("close");
		};
		return { close };
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
		whole.close();
		assert.equal(used(), 0);
	}
	const made: Made = { pieces: 0, returned: 0 };
	const streamed = await send(new Streamed(makePieces(made, 10).pieces, 2 * MIB));
	assert.equal(used(), 2.5 * MIB);
	streamed.close();
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
