/** A parser that outsiders reach, and what holds for it whatever it is given. */
export interface Target {
	/** Paths of the sources whose branches guide the search. */
	readonly sources: RegExp;
	/** Bytes of the largest input that gets as far as the parser. */
	readonly max_bytes: number;
	/** A file of whoever runs the program, which does nothing else meanwhile: its cost is theirs. */
	readonly is_own_file?: true;
	/** Inputs to begin with: at least one that the parser accepts. */
	readonly seeds: readonly (string | Buffer)[];
	/** Pieces of the grammar, for mutations that bytes would hardly find. */
	readonly tokens: readonly string[];
	/** Runs the parser. @throws Error when the property does not hold */
	check(input: Buffer): void | Promise<void>;
	/** Runs the parser alone, where comparing what it gives takes longer than the parser. */
	parse?(input: Buffer): unknown;
}

/** Runs what may refuse its input with one kind of error, and with no other. @returns undefined when it was refused */
export function accepted<T>(refusal: abstract new (...args: never[]) => Error, attempt: () => T): T | undefined {
	try {
		return attempt();
	} catch (error) {
		if (error instanceof refusal) return undefined;
		throw error;
	}
}
