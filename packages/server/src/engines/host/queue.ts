import type { EngineResponse } from "@svc/protocol";
import { type Culprit, isCore } from "./failures.ts";

/** Limits of waiting calls: of all realms, until only realms with few get in; of such a realm; and of all in any case. */
const MAX_WAITING = 64;
const MAX_FEW = 8;
const MAX_AT_ALL = 256;

/** A call that waits for a process, or runs in one. */
export interface Job {
	line: Buffer;
	/** The caller. */
	of: Culprit;
	resolve(response: EngineResponse): void;
	reject(error: unknown): void;
	timer: NodeJS.Timeout;
}

/** The calls that wait for a process of one engine. The core's come first; realms take turns. */
export class Queue {
	readonly #jobs: Job[] = [];
	/** Last turn of each realm. */
	readonly #turns = new Map<Culprit, number>();
	#turn = 0;

	/** All waiting calls. */
	get jobs(): readonly Job[] {
		return this.#jobs;
	}

	/** Tells whether one more call may wait: a realm with few waiting calls gets in even if others have filled the queue. */
	hasRoom(of: Culprit): boolean {
		const own = this.#jobs.filter((job) => job.of === of).length;
		if (own >= MAX_WAITING) return false;
		return isCore(of) || this.#jobs.length < MAX_WAITING || (own < MAX_FEW && this.#jobs.length < MAX_AT_ALL);
	}

	add(job: Job): void {
		this.#jobs.push(job);
	}

	remove(job: Job): void {
		this.#jobs.splice(this.#jobs.indexOf(job), 1);
	}

	/** Takes the next call. @param pause milliseconds that a caller must wait after failures: its calls come after the others */
	take(pause: (of: Culprit) => number): Job | undefined {
		const [first, second] = this.#jobs;
		if (first === undefined) return undefined;
		const next = second === undefined ? first : this.#next(pause);
		this.remove(next);
		if (this.#jobs.length === 0) this.#turns.clear();
		else this.#turns.set(next.of, ++this.#turn);
		return next;
	}

	#next(pause: (of: Culprit) => number): Job {
		const rank = ({ of }: Job): [number, number] => [
			(pause(of) > 0 ? 2 : 0) + (isCore(of) ? 0 : 1),
			this.#turns.get(of) ?? 0,
		];
		return this.#jobs.reduce((best, job) => {
			const [one, other] = [rank(best), rank(job)];
			return other[0] < one[0] || (other[0] === one[0] && other[1] < one[1]) ? job : best;
		});
	}
}
