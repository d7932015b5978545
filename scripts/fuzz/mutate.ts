import { seeded } from "../../packages/server/src/testing/seeded.ts";
import { bytesOfToken } from "../../test/fuzz/target.ts";

type Pick = (bound: number) => number;

/** Bytes that parsers treat specially. */
const INTERESTING = Buffer.from("\0\t\n\r \"'#%&()*+,-./:;<=>?@[\\]^_`{|}~09azAZ\x7f\x80\xc3\xff", "latin1");

/** Makes inputs from others: the same ones for the same seed. */
export function createMutator(seed: number, tokens: readonly string[], max_bytes: number) {
	const pick = seeded(seed);
	const pieces = tokens.map(bytesOfToken);
	const changes = [flip, remove, repeat, splice, insert];
	return {
		pick,
		/** A changed copy. @param other another input, which lends a part */
		mutate(input: Buffer, other: Buffer): Buffer {
			let made = input;
			for (let left = 1 + pick(6); left > 0; left--) {
				const change = changes[pick(changes.length)] ?? flip;
				made = change(made, pick, change === splice ? other : (pieces[pick(pieces.length)] ?? INTERESTING));
			}
			return made.subarray(0, max_bytes);
		},
	};
}

const at = (input: Buffer, pick: Pick) => pick(input.length + 1);

function flip(input: Buffer, pick: Pick): Buffer {
	if (input.length === 0) return input;
	const made = Buffer.from(input);
	const at = pick(made.length);
	made[at] = pick(2) === 0 ? (INTERESTING[pick(INTERESTING.length)] ?? 0) : (made[at] ?? 0) ^ (1 << pick(8));
	return made;
}

function remove(input: Buffer, pick: Pick): Buffer {
	const start = at(input, pick);
	return Buffer.concat([input.subarray(0, start), input.subarray(start + 1 + pick(16))]);
}

function repeat(input: Buffer, pick: Pick): Buffer {
	const start = at(input, pick);
	const piece = input.subarray(start, start + 1 + pick(16));
	const times = 1 + pick(pick(8) === 0 ? 64 : 4);
	return Buffer.concat([input.subarray(0, start), ...Array<Buffer>(times).fill(piece), input.subarray(start)]);
}

function splice(input: Buffer, pick: Pick, other: Buffer): Buffer {
	return Buffer.concat([input.subarray(0, at(input, pick)), other.subarray(at(other, pick))]);
}

function insert(input: Buffer, pick: Pick, piece: Buffer): Buffer {
	const start = at(input, pick);
	return Buffer.concat([input.subarray(0, start), piece, input.subarray(start)]);
}
