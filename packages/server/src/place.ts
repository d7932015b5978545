import { AsyncLocalStorage } from "node:async_hooks";

/** A request's place among those handled at the same time. Design: §13 */
export interface Place {
	/** Gives it to another request; the rest of the work goes on without one. */
	leave(): void;
	/** Waits for a place again. @throws AppError rate_limited, overloaded */
	retake(): Promise<void>;
}

/**
 * Milliseconds before a refusal for lack of a place or turn is sent, as in Retry-After. After an immediate refusal, clients that retry at once would
 * take more time with refusals than with requests. The connection waits meanwhile, and each source has only so many.
 */
export const REFUSAL_MS = 1000;

const ofRequests = new WeakMap<object, Place>();

// The alternative is an argument through every rule down to engines, providers and drivers. AsyncLocalStorage makes promises slower: 10 µs per request.
const places = new AsyncLocalStorage<Place>();

/** Stores the place of a node:http request. */
export function setPlace(request: object, place: Place): void {
	ofRequests.set(request, place);
}

/** Finds the place of a request; undefined when it never needed one. */
export function placeOf(request: object): Place | undefined {
	return ofRequests.get(request);
}

/** Runs work that may give back the place at any depth, with `leavePlace`. */
export function holdPlace<Input, Result>(
	place: Place | undefined,
	work: (input: Input) => Result,
	input: Input,
): Result {
	return place === undefined ? work(input) : places.run(place, work, input);
}

/**
 * Gives back the current request's place, if it has one. Call it before you wait for anything that is not this process's own work, such as an engine,
 * a password's turn or a provider.
 */
export function leavePlace(): void {
	places.getStore()?.leave();
}

/** Waits without a place, then takes one again: for a body that is still arriving. @throws AppError rate_limited, overloaded */
export async function waitOutside<T>(place: Place | undefined, wait: Promise<T>): Promise<T> {
	place?.leave();
	const found = await wait;
	await place?.retake();
	return found;
}
