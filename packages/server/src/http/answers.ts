import type { ServerResponse } from "node:http";
import { AppError, clientGone } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { Log } from "../log.ts";
import { slotOfRequest } from "../request-slot.ts";
import { createSemaphore } from "../semaphore.ts";
import { PIECE_CHARS, Streamed } from "../streamed.ts";
import { Budget, type Holder, type Recipient, type TakenShare } from "./budget.ts";
import { Scheduler } from "./scheduler.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

const BUDGET = { person: 4 * MIB, account: 16 * MIB, all: 64 * MIB, cut_ms: 5000, least_rate: 48 * KIB } as const;

/** An answer up to this size is one write. */
const WHOLE_BYTES = 256 * KIB;

/** Answers up to this length are not counted: a connection has one at a time. */
export const SMALL_CHARS = 16 * KIB;

/** Bytes that an answer in pieces holds: a value, its row, two pieces. */
const STREAM_BYTES = 512 * KIB;

/** Answers that are begun at the same time, until each holds its share: as many as requests are handled. */
const MAKING = 32;

/** Those of one account: a comparison opens many values before it has text to send. */
const MAKING_OF_ONE = 4;

/** Milliseconds that a reader may take for one piece. */
const PIECE_MS = 30_000;

/** Status and headers of an answer. */
interface Head {
	status: number;
	headers: Record<string, string | string[]>;
}

type Text = string | Uint8Array;
type Pieces = AsyncGenerator<Text, unknown, undefined>;

/** Sends large answers, and counts the bytes that answers hold. */
export class Answers {
	readonly #log: Log;
	readonly #budget = new Budget(BUDGET, tooMuch);
	readonly #scheduler = new Scheduler();
	readonly #making = createSemaphore(MAKING, { each: MAKING_OF_ONE });

	constructor({ log, limits }: { log: Log; limits: Pick<Limits, "add"> }) {
		this.#log = log;
		addLimits(limits, this.#budget);
	}

	/**
	 * Sends an answer, if it is large.
	 * @returns an answer small enough for one write, which the caller sends; undefined when the answer is on its way
	 * @throws AppError overloaded, and any error of making the first pieces
	 */
	async send(outgoing: ServerResponse, to: Recipient, head: Head, answer: Text | Streamed): Promise<Text | undefined> {
		if (answer instanceof Streamed) return this.#stream(outgoing, to, head, answer);
		const bytes = Buffer.byteLength(answer);
		if (bytes <= SMALL_CHARS) return answer;
		// A file is in memory once, for all readers.
		const share = this.#hold(outgoing, to, typeof answer === "string" ? bytes : Math.min(bytes, WHOLE_BYTES));
		if (bytes <= WHOLE_BYTES) return answer;
		const body = typeof answer === "string" ? Buffer.from(answer) : answer;
		const headers = { ...head.headers, "content-length": String(body.length) };
		return this.#begin(outgoing, to, { ...head, headers }, slicesOf(body), share);
	}

	async #stream(outgoing: ServerResponse, to: Recipient, head: Head, answer: Streamed): Promise<Text | undefined> {
		const { pieces, held } = answer;
		try {
			const making = held > SMALL_CHARS ? this.#hold(outgoing, to, held) : undefined;
			const begin = async () => {
				const { first, isAll } = await this.#makeFirst(outgoing, to, pieces);
				making?.release();
				if (isAll) return this.send(outgoing, to, head, joined(first));
				const share = this.#hold(outgoing, to, STREAM_BYTES + held);
				return this.#begin(outgoing, to, head, chained(first, pieces), share);
			};
			return await this.#making.run(begin, { keys: to.keys });
		} catch (error) {
			await pieces.return(undefined);
			throw error;
		}
	}

	/** Makes the bytes of one write, and tells whether they are the last. */
	async #makeFirst(
		outgoing: ServerResponse,
		{ keys }: Recipient,
		pieces: Pieces,
	): Promise<{ first: Text[]; isAll: boolean }> {
		const first: Text[] = [];
		let length = 0;
		while (length <= WHOLE_BYTES) {
			if (outgoing.closed) throw clientGone();
			const { done, value } = await this.#scheduler.step(keys, () => pieces.next());
			if (done) return { first, isAll: true };
			if (value.length > 0) first.push(value);
			length += value.length;
		}
		return { first, isAll: false };
	}

	/** Takes a share until the answer is sent, or the share is released before. */
	#hold(outgoing: ServerResponse, to: Recipient, bytes: number): TakenShare {
		const share = this.#budget.take(to, bytes, () => outgoing.destroy());
		if (outgoing.closed) share.release();
		else outgoing.once("close", share.release);
		return share;
	}

	#begin(
		outgoing: ServerResponse,
		to: Recipient,
		{ status, headers }: Head,
		pieces: Pieces,
		share: TakenShare,
	): undefined {
		slotOfRequest(outgoing.req)?.release();
		outgoing.writeHead(status, headers);
		void this.#pump(outgoing, to, pieces, share);
	}

	async #pump(outgoing: ServerResponse, { keys }: Recipient, pieces: Pieces, share: TakenShare): Promise<void> {
		const write = createOutlet(outgoing);
		try {
			for (;;) {
				const { done, value } = await this.#scheduler.step(keys, () => pieces.next());
				share.moved();
				if (done) break;
				if (value.length === 0) continue;
				const written_at = performance.now();
				await write(value);
				share.took(value.length, performance.now() - written_at);
			}
			await write(undefined);
		} catch (error) {
			// The reader sees a broken answer, never a shorter one.
			if (!(error instanceof ReaderGone || outgoing.destroyed)) this.#log("error", "answer.cut", { error });
			outgoing.destroy();
		} finally {
			await pieces.return(undefined);
		}
	}
}

/** The end of an answer whose reader went away, was too slow, or lost its connection: no fault of the server. */
class ReaderGone extends Error {}

/**
 * Makes the function that writes one piece after another, and fails when its reader is gone or too slow. An accepted write proves nothing: the
 * next piece waits until this one is on its way.
 * @returns a function that writes a piece, or ends the answer when there is none
 */
function createOutlet(outgoing: ServerResponse): (piece: Text | undefined) => Promise<void> {
	let settle = (_error?: Error | null) => {};
	outgoing.once("close", () => settle(outgoing.writableFinished ? null : new ReaderGone()));
	return (piece) =>
		new Promise((resolve, reject) => {
			const timer = setTimeout(() => outgoing.destroy(), PIECE_MS);
			settle = (error) => {
				clearTimeout(timer);
				if (error) reject(new ReaderGone());
				else resolve();
			};
			if (outgoing.destroyed) settle(new ReaderGone());
			else if (piece === undefined) outgoing.end(() => settle());
			else outgoing.write(piece, (error) => settle(error));
		});
}

async function* slicesOf(body: Uint8Array): AsyncGenerator<Text> {
	for (let start = 0; start < body.length; start += PIECE_CHARS) yield body.subarray(start, start + PIECE_CHARS);
}

/** Yields the pieces made already, releasing each as it is sent, then the rest. */
async function* chained(first: Text[], rest: AsyncGenerator<Text>): AsyncGenerator<Text> {
	try {
		for (let piece = first.shift(); piece !== undefined; piece = first.shift()) yield piece;
		for (;;) {
			const { done, value } = await rest.next();
			if (done) return;
			yield value;
		}
	} finally {
		await rest.return(undefined);
	}
}

function joined(pieces: readonly Text[]): Text {
	const [only = "", ...others] = pieces;
	if (others.length === 0) return only;
	return typeof only === "string" ? pieces.join("") : Buffer.concat(pieces as Uint8Array[]);
}

/** The limit of each holder, and advice on it. */
const LIMITS: Record<Holder, { name: string; whose: string; hint: string }> = {
	person: {
		name: "answer_bytes_per_token",
		whose: "token or session",
		hint: "one token or session is slow to read large answers",
	},
	account: {
		name: "answer_bytes_per_account",
		whose: "account or source",
		hint: "one account or source is slow to read large answers",
	},
	all: { name: "answer_bytes", whose: "server", hint: "many clients are slow to read large answers" },
};

function addLimits({ add }: Pick<Limits, "add">, budget: Budget): void {
	for (const [holder, { name, hint }] of Object.entries(LIMITS) as [Holder, (typeof LIMITS)[Holder]][]) {
		const [used, refused] = [() => budget.used()[holder], () => budget.refused[holder]];
		add({ name, max: BUDGET[holder], used, refused, hint });
	}
}

function tooMuch(holder: Holder, limit: number): AppError {
	const { name, whose } = LIMITS[holder];
	const part = holder === "account" ? ", or its part of what others leave free" : "";
	const message = `unread answers of this ${whose} already hold ${limit / MIB} MiB (${name})${part}: read them, or try again in 5 seconds`;
	return new AppError("overloaded", message, { headers: { "retry-after": "5" } });
}
