/** Milliseconds that long answers together work in one turn of the event loop. */
const SHARE_MS = 8;

/** Lets long answers work side by side without holding up a turn: writing that succeeds at once would go on in the same one for ever. Design: §13 */
export class Pace {
	#used_ms = 0;
	#next: NodeJS.Immediate | undefined;
	readonly #waiting: (() => void)[] = [];

	/** Does a step, in a later turn when this one has had its share; whoever waits longest is first. */
	async step<T>(work: () => Promise<T>): Promise<T> {
		if (this.#used_ms >= SHARE_MS || this.#waiting.length > 0) {
			this.#next ??= setImmediate(() => this.#begin());
			await new Promise<void>((resolve) => this.#waiting.push(resolve));
		}
		const began = performance.now();
		try {
			return await work();
		} finally {
			this.#used_ms += performance.now() - began;
			this.#next ??= setImmediate(() => this.#begin());
		}
	}

	#begin(): void {
		this.#used_ms = 0;
		this.#waiting.shift()?.();
		this.#next = this.#waiting.length > 0 ? setImmediate(() => this.#begin()) : undefined;
	}
}
