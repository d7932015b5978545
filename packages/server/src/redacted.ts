import { inspect } from "node:util";

const HIDDEN = "[redacted]";

/** Carries a secret through code that may print it: every textual form is `[redacted]`, only `reveal()` returns the value. */
export class Redacted<T> {
	readonly #value: T;

	constructor(value: T) {
		this.#value = value;
	}

	/** Returns the secret. */
	reveal(): T {
		return this.#value;
	}

	toString(): string {
		return HIDDEN;
	}

	toJSON(): string {
		return HIDDEN;
	}

	[inspect.custom](): string {
		return HIDDEN;
	}
}
