import type { Target } from "./target.ts";

/** Milliseconds of its thread's time that one input may take. */
export const MAX_MS = 50;

/** Inputs that are measured: the largest of a corpus, which takes the most ways. */
const MAX_MEASURED = 24;

/** Measurements of one input, of which the smallest counts. */
const ROUNDS = 3;

/** An input that takes too long. */
export interface Costly {
	/** What it was grown from. */
	input: Buffer;
	bytes: number;
	milliseconds: number;
}

/** Grows each input to the largest that reaches the parser, and tells which of them take too long. Needs sources that count nothing. */
export async function findCostly(target: Target, inputs: readonly Buffer[]): Promise<Costly[]> {
	const found: Costly[] = [];
	if (target.is_own_file) return found;
	for (const input of inputs.slice(-MAX_MEASURED)) {
		for (const large of grown(input, target.max_bytes)) {
			const milliseconds = await costOf(target, large);
			if (milliseconds > MAX_MS) found.push({ input, bytes: large.length, milliseconds });
		}
	}
	return found;
}

/** Inputs as large as the target takes them, each made by repeating a piece of the given one. */
function* grown(input: Buffer, max_bytes: number): Generator<Buffer> {
	const size = input.length;
	const cuts: [start: number, end: number][] = [
		[0, size],
		[Math.floor(size / 2), size],
		[0, Math.ceil(size / 2)],
		[Math.floor(size / 3), Math.ceil((2 * size) / 3)],
		[Math.floor(size / 2), Math.floor(size / 2) + 1],
	];
	for (const [start, end] of cuts) {
		const piece = input.subarray(start, end);
		const room = max_bytes - (size - piece.length);
		const count = piece.length === 0 ? 0 : Math.floor(room / piece.length);
		if (count < 2) continue;
		const repeated = Buffer.alloc(count * piece.length, piece);
		yield Buffer.concat([input.subarray(0, start), repeated, input.subarray(end)]);
	}
}

/** What the thread itself worked: other programs and other threads take none of it. */
async function costOf(target: Target, input: Buffer): Promise<number> {
	let best = Number.POSITIVE_INFINITY;
	for (let round = 0; round < ROUNDS && best > MAX_MS / 2; round++) {
		const before = process.threadCpuUsage();
		await (target.parse ?? target.check)(input);
		const { user, system } = process.threadCpuUsage(before);
		best = Math.min(best, (user + system) / 1000);
	}
	return best;
}
