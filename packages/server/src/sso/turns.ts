import { ProviderUnavailable } from "./model.ts";

/** Bounds on concurrent and waiting tasks. */
export interface Limits {
	/** Running tasks of all keys. */
	all: number;
	/** Running tasks of one key. */
	each: number;
	/** Waiting tasks of one key. */
	waiting: number;
}

/** Runs a task when its turn comes within `limit_ms`; the task receives the milliseconds that are left. */
export type Turn = <T>(key: string, limit_ms: number, task: (left_ms: number) => Promise<T>) => Promise<T>;

interface Waiting {
	key: string;
	start: () => void;
}

const BUSY = "too many logins wait: try again in a moment";

/**
 * Lets a bounded number of tasks run and wait, in all and per key: a directory that hangs, or a source that sends slow work, takes nothing from the
 * others. The turn throws ProviderUnavailable when too many wait, or when it did not come in time.
 */
export function createTurns({ all, each, waiting: most }: Limits): Turn {
	const running: string[] = [];
	const waiting = new Set<Waiting>();
	const count = (key: string) => running.filter((other) => other === key).length;
	const isFree = (key: string) => running.length < all && count(key) < each;

	function wait(key: string, limit_ms: number): Promise<void> {
		if ([...waiting].filter((other) => other.key === key).length >= most) {
			return Promise.reject(new ProviderUnavailable(BUSY));
		}
		return new Promise((resolve, reject) => {
			const entry = { key, start: () => leave(resolve) };
			const timer = setTimeout(() => leave(() => reject(new ProviderUnavailable(BUSY))), limit_ms);
			const leave = (settle: () => void) => {
				clearTimeout(timer);
				waiting.delete(entry);
				settle();
			};
			waiting.add(entry);
		});
	}

	function next(): void {
		const entry = [...waiting].find(({ key }) => isFree(key));
		if (entry === undefined) return;
		running.push(entry.key);
		entry.start();
	}

	return async (key, limit_ms, task) => {
		const until = performance.now() + limit_ms;
		if (isFree(key)) running.push(key);
		else await wait(key, limit_ms);
		try {
			return await task(Math.max(1, until - performance.now()));
		} finally {
			running.splice(running.indexOf(key), 1);
			next();
		}
	};
}
