import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { Streamed } from "../streamed.ts";
import { createTestLog } from "../testing/log.ts";
import { Answers } from "./answers.ts";

const MIB = 1024 * 1024;

/** Answers whose first piece is made on command. */
function bench() {
	const limits = createLimits();
	const answers = new Answers({ log: createTestLog().log, limits });
	/** Accounts whose answers have begun to be made, in order. */
	const making: string[] = [];
	const ends: (() => void)[] = [];
	async function* pieces(account: string) {
		making.push(account);
		await new Promise<void>((resolve) => ends.push(resolve));
		yield "{}";
	}
	const send = (account: string, held = 0) => {
		const outgoing = Object.assign(new EventEmitter(), { closed: false });
		const head = { status: 200, headers: {} };
		const answer = new Streamed(pieces(account), held);
		const sent = answers.send(outgoing as never, { person: undefined, keys: [account] }, head, answer);
		const leave = () => {
			outgoing.closed = true;
			outgoing.emit("close");
		};
		return { sent, leave };
	};
	/** Ends this many first pieces, and lets others begin. */
	const end = async (count: number) => {
		for (const resolve of ends.splice(0, count)) resolve();
		for (let turn = 0; turn < 50; turn++) await nextTurn();
	};
	const used = () =>
		limits
			.all()
			.find(({ name }) => name === "answer_bytes")
			?.used();
	return { making, send, end, used };
}

/** Accounts whose four answers each are all that are begun at once. */
const CROWD = ["ada", "cy", "di", "ed", "flo", "gus", "hal", "ivy"];

test("no more than 32 answers are begun at once, four of an account, and accounts take turns", async () => {
	const { making, send, end } = bench();
	const all = [...CROWD, "bob"].flatMap((name) => Array.from({ length: 5 }, () => send(name).sent));
	await end(0);
	assert.deepEqual(
		making,
		CROWD.flatMap((name) => Array(4).fill(name)),
	);
	await end(2);
	assert.deepEqual(making.slice(32), ["ada", "bob"]);
	while (making.length < all.length) await end(1);
	await end(all.length);
	assert.deepEqual(await Promise.all(all), Array(45).fill("{}"));
});

test("an answer whose client goes while it waits is not begun", async () => {
	const { making, send, end } = bench();
	const all = Array.from({ length: 5 }, () => send("ada"));
	await end(0);
	const [last] = all.slice(-1);
	const refused = assert.rejects(last?.sent ?? assert.fail("no answer"), AppError);
	last?.leave();
	await end(4);
	await refused;
	assert.equal(making.length, 4);
	await Promise.all(all.slice(0, 4).map(({ sent }) => sent));
});

test("what an answer holds is counted before it is begun, once", async () => {
	const { send, end, used } = bench();
	const all = Array.from({ length: 33 }, (_, at) => send(at < 16 ? "ada" : "bob", at < 16 ? MIB : 0.5 * MIB));
	await end(0);
	assert.equal(used(), 24.5 * MIB);
	await assert.rejects(
		send("ada", MIB).sent,
		(error) => error instanceof AppError && error.code === "overloaded" && /16 MiB/.test(error.message),
	);
	for (let round = 0; round < 5; round++) await end(8);
	await Promise.all(all.map(({ sent }) => sent));
	assert.equal(used(), 0);
});
