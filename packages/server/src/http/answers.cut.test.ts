import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createLimits } from "../limits.ts";
import { Streamed } from "../streamed.ts";
import { createTestLog } from "../testing/log.ts";
import { Answers } from "./answers.ts";

const MIB = 1024 * 1024;
const PIECE = "x".repeat(64 * 1024);

test("an answer whose reader takes its pieces is not cut, however large and old it is; one that nobody reads is", async (t) => {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	const answers = new Answers({ log: createTestLog().log, limits: createLimits() });
	async function* pieces() {
		for (;;) yield PIECE;
	}
	/** Sends an endless answer that holds so many bytes. @returns functions that read a piece of it, and tell whether it was cut */
	const send = async (account: string, bytes: number) => {
		let accept: (() => void) | undefined;
		const outgoing = Object.assign(new EventEmitter(), {
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
	const large = await send("large", 16 * MIB);
	const unread = [];
	for (const [at, size] of [8, 8, 8, 8, 8, 2, 2].entries()) unread.push(await send(`account ${at}`, size * MIB));
	now += 4999;
	await large.read();
	now += 1;
	const late = await send("late", 4 * MIB);
	assert.deepEqual(
		[large, late, ...unread].map(({ isCut }) => isCut()),
		[false, false, true, ...Array(6).fill(false)],
	);
});
