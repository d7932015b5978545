import { AsyncLocalStorage } from "node:async_hooks";

/** A request's place among those that are handled at a time. Design: §13 */
export interface Place {
	/** Gives it to another request; what is left to do is done without one. */
	leave(): void;
	/** Waits for one again. @throws AppError rate_limited, overloaded */
	retake(): Promise<void>;
}

/**
 * Milliseconds before a refusal for want of a place or turn is answered, as Retry-After says. Told at once, whoever asks again at once takes more of
 * everybody's time with refusals than with requests. A connection waits meanwhile, and a source has so many.
 */
export const REFUSAL_MS = 1000;

// An argument through every rule down to engines, providers and drivers would be the alternative; this costs 0.3 µs a request.
const places = new AsyncLocalStorage<Place>();

/** Does a request's work in its place. */
export function holdPlace<Args extends unknown[], Result>(
	place: Place,
	work: (...args: Args) => Result,
	...args: Args
): Result {
	return places.run(place, work, ...args);
}

/**
 * Gives back the place of the request at hand, if there is one: to be called before a wait for what is not this process's own work, such as an engine, a
 * password's turn or a provider.
 */
export function leavePlace(): void {
	places.getStore()?.leave();
}

/** Waits without a place, and goes on with one: for a body that is still arriving. @throws AppError rate_limited, overloaded */
export async function waitOutside<T>(wait: Promise<T>): Promise<T> {
	const place = places.getStore();
	place?.leave();
	const found = await wait;
	await place?.retake();
	return found;
}
