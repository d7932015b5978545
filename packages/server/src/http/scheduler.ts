import { clientGone } from "../errors.ts";
import { type CallerKeys, FairQueue } from "../fair-queue.ts";
import { onClientGone } from "../request-slot.ts";

/** Milliseconds that all long work of one kind may take in one turn of the event loop. */
const SHARE_MS = 4;

/** Maximum milliseconds of a pause: a process that was stopped within a step owes none. */
const MAX_REST_MS = 100;

/** Items of a list that are worked on in one step. */
const FEW = 50;

/**
 * Interleaves long answers, or large bodies, without holding up a turn: writes that succeed immediately would never end the turn. Each has one step
 * at a time, so what bounds these bounds the waiting steps. After a step that exceeds a turn's share, the others wait for as long as it exceeded
 * it: what cannot be divided, such as JSON.parse of a megabyte, leaves other requests several turns in between. Design: §13
 */
export class Scheduler {
	#used_ms = 0;
	#rest_ms = 0;
	#next: NodeJS.Immediate | NodeJS.Timeout | undefined;
	readonly #waiting = new FairQueue<() => void>();

	/** Does a step, in a later turn once this one's share is used up. @param keys take turns, so that no account waits for another's queue */
	async step<T>(keys: CallerKeys, work: () => Promise<T>): Promise<T> {
		if (this.#used_ms >= SHARE_MS || this.#waiting.size > 0) {
			this.#next ??= setImmediate(() => this.#begin());
			await new Promise<void>((resolve) => this.#waiting.add(resolve, ...keys));
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
			// The synchronous part is counted before another step begins.
			this.#rest_ms += Math.max(0, performance.now() - counted - SHARE_MS);
			count();
			return await working;
		} finally {
			count();
		}
	}

	/**
	 * Yields the items of a generator, each made in a step of its own. It ends the generator when its reader ends, or when the client of the current
	 * request has gone.
	 * @throws AppError request_timeout, which nobody waits for
	 */
	async *each<Item>(keys: CallerKeys, items: AsyncIterable<Item>): AsyncGenerator<Item> {
		const iterator = items[Symbol.asyncIterator]();
		let isGone = false;
		const forget = onClientGone(() => {
			isGone = true;
		});
		try {
			for (;;) {
				const { done, value } = await this.step(keys, () => iterator.next());
				if (done === true) return;
				if (isGone) throw clientGone();
				yield value;
			}
		} finally {
			forget();
			await iterator.return?.();
		}
	}

	/** Makes something of each item of a list, a few in each step. */
	async map<Item, Made>(
		keys: CallerKeys,
		items: readonly Item[],
		make: (item: Item, index: number) => Made,
	): Promise<Made[]> {
		const made: Made[] = [];
		const makeFew = async () => {
			for (const item of items.slice(made.length, made.length + FEW)) made.push(make(item, made.length));
		};
		while (made.length < items.length) await this.step(keys, makeFew);
		return made;
	}

	#begin(): void {
		const rest = Math.min(this.#rest_ms, MAX_REST_MS);
		this.#rest_ms = 0;
		if (rest >= 1) {
			this.#next = setTimeout(() => this.#begin(), rest);
			return;
		}
		this.#used_ms = 0;
		this.#waiting.take()?.();
		this.#next = this.#waiting.size > 0 ? setImmediate(() => this.#begin()) : undefined;
	}
}
