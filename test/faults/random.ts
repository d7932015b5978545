/** Repeatable chance: one seed gives one sequence, so you can repeat a failing run. */
export interface Random {
	/** Returns a number in [0, 1). */
	next: () => number;
	/** Returns a whole number in [0, below). */
	below: (below: number) => number;
}

/** Makes the sequence of a 32-bit seed (mulberry32: small, fast, good enough to choose moments and sectors). */
export function seededRandom(seed: number): Random {
	let state = seed >>> 0;
	const next = () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
	return { next, below: (below) => Math.floor(next() * below) };
}
