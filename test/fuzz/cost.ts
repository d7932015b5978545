import type { Target } from "./target.ts";

/** Milliseconds of thread time that one input may take. */
const MAX_MS = 50;

/** Number of inputs measured: the largest of a corpus, which take the most branches. */
const MEASURED = 24;

/** Bytes that are shown of a target's own large input. */
const MAX_SHOWN = 200;

/** Measurements of one input; the smallest counts. */
const ROUNDS = 3;

/** An input that takes too long. */
export interface Costly {
	/** The input from which it was grown. */
	input: Buffer;
	bytes: number;
	milliseconds: number;
}

/**
 * Grows each input to the largest that reaches the parser, and returns those that take too long, also of the target's own. Needs sources without counters.
 * @param count of the inputs that are measured, from the end
 */
export async function findCostly(
	target: Target,
	inputs: readonly Buffer[],
	count: number = MEASURED,
): Promise<Costly[]> {
	const found: Costly[] = [];
	const measure = async (input: Buffer, large: Buffer) => {
		const milliseconds = await costOf(target, large);
		if (milliseconds > MAX_MS) found.push({ input, bytes: large.length, milliseconds });
	};
	for (const input of inputs.slice(-count)) {
		for (const large of grown(input, target.max_bytes)) await measure(input, large);
	}
	for (const text of target.large ?? []) {
		const large = Buffer.from(text);
		await measure(large.subarray(0, MAX_SHOWN), large);
	}
	return found;
}

/** Yields inputs as large as the target accepts, each made by repeating a piece of the given one. */
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

/** Returns the thread's own work, without that of other programs and threads. */
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
