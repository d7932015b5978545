/** Draws whole numbers below a bound, the same in every run with a seed. */
export function seeded(seed: number): (bound: number) => number {
	let state = seed;
	return (bound) => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
		return (state >> 8) % bound;
	};
}
