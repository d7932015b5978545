/** Milliseconds that long work of one kind takes together in one turn of the event loop. */
const SHARE_MS = 8;

/** Lets long answers, or large bodies, be worked on side by side without holding up a turn: writing that succeeds at once would go on in the same one for ever. Design: §13 */
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
		let counted = performance.now();
		const count = () => {
			const now = performance.now();
			this.#used_ms += now - counted;
			counted = now;
			this.#next ??= setImmediate(() => this.#begin());
		};
		try {
			const working = work();
			// What was done at once counts before anybody else begins.
			count();
			return await working;
		} finally {
			count();
		}
	}

	#begin(): void {
		this.#used_ms = 0;
		this.#waiting.shift()?.();
		this.#next = this.#waiting.length > 0 ? setImmediate(() => this.#begin()) : undefined;
	}
}
