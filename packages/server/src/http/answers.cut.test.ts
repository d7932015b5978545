import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createLimits } from "../limits.ts";
import { Streamed } from "../streamed.ts";
import { createTestLog } from "../testing/log.ts";
import { Answers } from "./answers.ts";

const MIB = 1024 * 1024;
const PIECE = "x".repeat(64 * 1024);

/** Stops the clock, and makes the sender of endless answers. */
function bench(t: TestContext) {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	const pass = (ms: number) => {
		now += ms;
	};
	const answers = new Answers({ log: createTestLog().log, limits: createLimits() });
	async function* pieces() {
		for (;;) yield PIECE;
	}
	/** Sends an endless answer that holds so many bytes. @returns functions that read a piece of it, and tell whether it was cut */
	const send = async (account: string, bytes: number) => {
		let accept: (() => void) | undefined;
		const outgoing = Object.assign(new EventEmitter(), {
			req: {},
			...{ closed: false, destroyed: false, writeHead: () => undefined },
			write: (_: string, callback: () => void) => {
				accept = callback;
			},
			destroy() {
				Object.assign(outgoing, { closed: true, destroyed: true });
				outgoing.emit("close");
			},
		});
		t.after(() => outgoing.destroy());
		const answer = new Streamed(pieces(), bytes - MIB / 2);
		const sent = answers.send(
			outgoing as never,
			{ person: account, keys: [account] },
			{ status: 200, headers: {} },
			answer,
		);
		await sent;
		const read = async () => {
			accept?.();
			for (let turn = 0; turn < 5; turn++) await nextTurn();
		};
		return { read, isCut: () => outgoing.destroyed };
	};
	return { pass, send };
}

test("an answer whose reader takes its pieces is not cut, however large and old it is; one that nobody reads is", async (t) => {
	const { pass, send } = bench(t);
	const large = await send("large", 16 * MIB);
	const unread = [];
	for (const [at, size] of [8, 8, 8, 8, 8, 2, 2].entries()) unread.push(await send(`account ${at}`, size * MIB));
	pass(4999);
	await large.read();
	pass(1);
	const late = await send("late", 4 * MIB);
	assert.deepEqual(
		[large, late, ...unread].map(({ isCut }) => isCut()),
		[false, false, true, ...Array(6).fill(false)],
	);
});

test("an answer whose reader takes a piece every 5 s makes room for another's; one that is read quickly does not", async (t) => {
	const { pass, send } = bench(t);
	const quick = await send("quick", MIB / 2);
	const slow = [];
	for (let at = 0; at < 126; at++) slow.push(await send(`account ${at}`, MIB / 2));
	await assert.rejects(send("too early", MIB / 2), /\(answer_bytes\)/);
	for (let second = 0; second < 9; second++) {
		pass(900);
		await quick.read();
		if (second % 5 === 4) for (const one of slow) await one.read();
	}
	for (const one of slow) await one.read();
	const late = await send("late", MIB / 2);
	assert.deepEqual(
		[quick, late, ...slow].map(({ isCut }) => isCut()),
		[false, false, true, ...Array(125).fill(false)],
	);
});
