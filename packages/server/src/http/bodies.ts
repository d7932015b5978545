import type { IncomingMessage } from "node:http";
import { AppError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { slotOfRequest, waitWithoutSlot } from "../request-slot.ts";
import { keysOfSource, sourceGroup } from "../source.ts";
import { Budget, type BudgetLimits, type Holder, type TakenShare } from "./budget.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Largest body of a request, in bytes. Design: §7. */
export const MAX_BODY_BYTES = MIB;

/** Bytes that unfinished bodies may hold; a source gets as many as an account's answers. */
const BUDGET: BudgetLimits = { person: 16 * MIB, account: 16 * MIB, all: 64 * MIB, cut_ms: 5000 };

/** Bytes allocated at a time: a body holds whole pieces, however many chunks it arrives in. */
const PIECE_BYTES = 64 * KIB;

/** Share of a body: nobody waits for its sender. */
type BodyShare = Omit<TakenShare, "took">;

/** Takes a share of the bytes that bodies may hold. @throws AppError overloaded */
export type Hold = (bytes: number, cut: () => void) => BodyShare;

/** Counts the bytes that arriving bodies hold together. Design: §13 */
export class Bodies {
	readonly #budget: Budget;

	constructor({ add }: Pick<Limits, "add">, bounds: BudgetLimits = BUDGET) {
		const budget = new Budget(bounds, tooMuch);
		this.#budget = budget;
		add({
			name: "body_bytes",
			max: bounds.all,
			used: () => budget.used().all,
			refused: () => budget.refused.all,
			hint: "many clients are slow to send large bodies",
		});
		add({
			name: "body_bytes_per_source",
			max: bounds.account,
			used: () => budget.used().account,
			refused: () => budget.refused.account,
			hint: "one source is slow to send large bodies",
		});
	}

	/** Makes the function that takes shares for one request's body. @param ip the request's source */
	holderFor(ip: string): Hold {
		return (bytes, cut) => this.#budget.take({ person: undefined, keys: keysOfSource(sourceGroup(ip)) }, bytes, cut);
	}
}

/** The rest of such a body is not read: the connection ends with the answer. */
function tooMuch(holder: Holder, limit: number): AppError {
	const [whose, name] = holder === "all" ? ["server", "body_bytes"] : ["source", "body_bytes_per_source"];
	const part = holder === "all" ? "" : ", or its part of what others leave free";
	const message = `unfinished bodies of this ${whose} already hold ${limit / MIB} MiB (${name})${part}: try again in 5 seconds`;
	return new AppError("overloaded", message, { headers: { "retry-after": "5", connection: "close" } });
}

function cutShort(): AppError {
	return new AppError(
		"overloaded",
		"the body arrived too slowly while others waited for room (body_bytes, body_bytes_per_source): try again in 5 seconds",
		{
			headers: { "retry-after": "5", connection: "close" },
		},
	);
}

function tooLarge(max: number): AppError {
	return new AppError("payload_too_large", `the body must be at most ${max} bytes`, {
		headers: { connection: "close" },
	});
}

/** Tells whether a body has arrived completely. Its last piece is there a moment before `complete` says so, and a request that announces none has ended. */
export function isHere({ complete, readableEnded, readableLength, headers }: IncomingMessage): boolean {
	return complete || readableEnded || readableLength === Number(headers["content-length"]);
}

/**
 * Reads a body and passes it to `understand`, keeping its share until that ends. Counts the bytes itself, whether or not a length was announced.
 * @throws AppError payload_too_large, overloaded, bad_request (it broke off), and any error of `understand`
 */
export async function readBody<T>(
	incoming: IncomingMessage,
	hold: Hold,
	max: number,
	understand: (bytes: Buffer) => T | Promise<T>,
): Promise<T> {
	if (Number(incoming.headers["content-length"] ?? 0) > max) throw tooLarge(max);
	// Node holds all of it already, and never holds more than this of any body.
	if (isHere(incoming)) return understand(await collect(incoming, new Whole(max)));
	const arriving = new Arriving(max, hold);
	try {
		return await understand(await waitWithoutSlot(slotOfRequest(incoming), collect(incoming, arriving)));
	} finally {
		arriving.release();
	}
}

/** Destination of a body's chunks. */
interface Store {
	/** @throws AppError payload_too_large, overloaded */
	add(chunk: Buffer): void;
	bytes(): Buffer;
	/** Receives the function that ends the body early. */
	onCut(cut: (error: AppError) => void): void;
}

function collect(incoming: IncomingMessage, store: Store): Promise<Buffer> {
	// It has no more events.
	if (incoming.readableEnded) return Promise.resolve(store.bytes());
	return new Promise((resolve, reject) => {
		let isOver = false;
		const fail = (error: unknown) => {
			isOver = true;
			reject(error);
		};
		store.onCut(fail);
		incoming.on("data", (chunk: Buffer) => {
			if (isOver) return;
			try {
				store.add(chunk);
			} catch (error) {
				fail(error);
			}
		});
		incoming.on("end", () => isOver || resolve(store.bytes()));
		const cutOff = () => isOver || fail(new AppError("bad_request", "the body ended before its announced length"));
		incoming.on("error", cutOff);
		// It closes after every body; an unneeded error object would cost 20 µs.
		incoming.on("close", () => incoming.complete || cutOff());
	});
}

class Whole implements Store {
	readonly #max: number;
	readonly #chunks: Buffer[] = [];
	#size = 0;

	constructor(max: number) {
		this.#max = max;
	}

	add(chunk: Buffer): void {
		this.#size += chunk.length;
		if (this.#size > this.#max) throw tooLarge(this.#max);
		this.#chunks.push(chunk);
	}

	bytes(): Buffer {
		const [only] = this.#chunks;
		return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
	}

	onCut(): void {
		// It holds nothing that others need.
	}
}

/** A body in pieces of one size: a million chunks of one byte each would hold a hundred times their size. */
class Arriving implements Store {
	readonly #max: number;
	readonly #hold: Hold;
	readonly #pieces: Buffer[] = [];
	readonly #shares: BodyShare[] = [];
	#size = 0;
	#cut: (error: AppError) => void = () => {};

	constructor(max: number, hold: Hold) {
		this.#max = max;
		this.#hold = hold;
	}

	add(chunk: Buffer): void {
		if (this.#size + chunk.length > this.#max) throw tooLarge(this.#max);
		for (let from = 0; from < chunk.length; ) {
			const at = this.#size % PIECE_BYTES;
			if (at === 0) this.#grow();
			const copied = chunk.copy(this.#pieces.at(-1) as Buffer, at, from);
			from += copied;
			this.#size += copied;
		}
	}

	bytes(): Buffer {
		return Buffer.concat(this.#pieces, this.#size);
	}

	onCut(cut: (error: AppError) => void): void {
		this.#cut = cut;
	}

	release(): void {
		this.#pieces.length = 0;
		for (const { release } of this.#shares.splice(0)) release();
	}

	#grow(): void {
		for (const { moved } of this.#shares) moved();
		this.#shares.push(
			this.#hold(PIECE_BYTES, () => {
				this.release();
				this.#cut(cutShort());
			}),
		);
		this.#pieces.push(Buffer.allocUnsafeSlow(PIECE_BYTES));
	}
}
