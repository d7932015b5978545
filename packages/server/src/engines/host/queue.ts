import type { EngineResponse } from "@svc/protocol";
import { FairQueue } from "../../fair-queue.ts";
import { type Culprit, isCore } from "./failures.ts";

/** Limits of waiting calls: of one realm, and of all until only realms with few get in; of such a realm; and of all in any case. */
export const MAX_WAITING = 64;
const MAX_FEW = 8;
const MAX_AT_ALL = 256;

/** Caller of an engine, and the account that pays. */
export interface Asker {
	/** The caller. */
	of: Culprit;
	/** The account that the call counts against; undefined for the core's own. */
	payer: string | undefined;
}

/** A call that waits for a process, or runs in one. */
export interface Job extends Asker {
	line: Buffer;
	resolve(response: EngineResponse): void;
	reject(error: unknown): void;
	timer: NodeJS.Timeout;
}

/** The calls that wait for a process of one engine. The core's come first; realms take turns. */
export class Queue {
	readonly #waiting = new FairQueue<Job>();

	/** All waiting calls. */
	get jobs(): readonly Job[] {
		return [...this.#waiting];
	}

	/** Number of waiting calls. */
	get size(): number {
		return this.#waiting.size;
	}

	/** Number of waiting calls of the realm that has most. */
	get fullest(): number {
		return this.#waiting.fullest();
	}

	/** Tells whether one more call may wait: a realm with few waiting calls gets in even if others have filled the queue. */
	hasRoom(of: Culprit): boolean {
		const own = this.#waiting.count(of);
		const { size } = this.#waiting;
		if (own >= MAX_WAITING) return false;
		return isCore(of) || size < MAX_WAITING || (own < MAX_FEW && size < MAX_AT_ALL);
	}

	add(job: Job): void {
		this.#waiting.add(job, job.of);
	}

	remove(job: Job): void {
		this.#waiting.remove(job, job.of);
	}

	/** Takes the next call. @param pause milliseconds that a caller must wait after failures: its calls come after the others */
	take(pause: (of: Culprit) => number): Job | undefined {
		const isReady = ({ of }: Job) => pause(of) === 0;
		const isOfCore = ({ of }: Job) => isCore(of);
		const waiting = this.#waiting;
		return (
			waiting.take((job) => isOfCore(job) && isReady(job)) ??
			waiting.take(isReady) ??
			waiting.take(isOfCore) ??
			waiting.take()
		);
	}
}
