import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { createLimits } from "../limits.ts";
import { createTestLog } from "../testing/log.ts";
import { Answers } from "./answers.ts";

const MIB = 1024 * 1024;
/** The largest answer that is one write. */
const WHOLE = "x".repeat(MIB / 4);
/** Such answers in 4 MiB. */
const OF_TOKEN = 16;

/** Answers that nobody reads. */
function bench() {
	const answers = new Answers({ log: createTestLog().log, limits: createLimits() });
	const cut: string[] = [];
	const send = (token: string, account: string) => {
		const outgoing = Object.assign(new EventEmitter(), { closed: false, destroy: () => void cut.push(token) });
		const to = { person: token, keys: [account] as const };
		return answers.send(outgoing as never, to, { status: 200, headers: {} }, WHOLE);
	};
	const fill = async (token: string, account: string) => {
		for (let count = 0; count < OF_TOKEN; count++) await send(token, account);
	};
	return { cut, send, fill };
}

test("a token has 4 MiB of unread answers, and other tokens of the account have theirs", async () => {
	const { send, fill } = bench();
	await fill("a1", "a");
	await assert.rejects(send("a1", "a"), / 4 MiB \(answer_bytes_per_token\)/);
	await fill("a2", "a");
});

test("unread answers hold 64 MiB in all, and one of 5 s makes room for another", async (t) => {
	let now = 0;
	t.mock.method(performance, "now", () => now);
	const { cut, send, fill } = bench();
	for (const token of "1234") await fill(`a${token}`, "a");
	await assert.rejects(send("a5", "a"), / 16 MiB \(answer_bytes_per_account\)/);
	// Each leaves as much free as it takes: the last quarter of a MiB stays.
	for (let count = 0; count < 48 * 4 - 1; count++) await send(`one ${count}`, `one ${count}`);
	await assert.rejects(send("e1", "e"), / 64 MiB \(answer_bytes\)/);
	now = 4999;
	await assert.rejects(send("e1", "e"), / 64 MiB \(answer_bytes\)/);
	assert.deepEqual(cut, []);
	now = 5000;
	await send("e1", "e");
	assert.deepEqual(cut, ["a1"]);
});
