/** A parser that outsiders reach, and the property that must hold for every input. */
export interface Target {
	/** Paths in the repository of the sources whose branches guide the search. */
	readonly sources: readonly string[];
	/** Bytes of the largest input that reaches the parser. */
	readonly max_bytes: number;
	/** First inputs: at least one that the parser accepts. */
	readonly seeds: readonly (string | Buffer)[];
	/** Inputs of the largest size, of shapes that repeating a piece does not make: only their cost is measured. */
	readonly large?: readonly string[];
	/** Pieces of the grammar, for mutations that random bytes would hardly find. */
	readonly tokens: readonly string[];
	/** Runs the parser. @throws Error when the property does not hold */
	check(input: Buffer): void | Promise<void>;
	/** Runs the parser alone, where comparing its result takes longer than parsing. */
	parse?(input: Buffer): unknown;
}

/** Encodes a token: each character as one byte where that is possible, otherwise as UTF-8. */
export function bytesOfToken(token: string): Buffer {
	return Buffer.from(token, /^[\0-\xff]*$/.test(token) ? "latin1" : "utf8");
}

/** Runs code that may refuse its input only with one kind of error. @returns undefined when it refused */
export function accepted<T>(refusal: abstract new (...args: never[]) => Error, attempt: () => T): T | undefined {
	try {
		return attempt();
	} catch (error) {
		if (error instanceof refusal) return undefined;
		throw error;
	}
}
