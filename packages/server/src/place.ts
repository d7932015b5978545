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

const ofRequests = new WeakMap<object, Place>();

// An argument through every rule down to engines, providers and drivers would be the alternative. It makes each promise dearer, 10 µs of a request.
const places = new AsyncLocalStorage<Place>();

/** Keeps the place of a request, as node:http knows it. */
export function setPlace(request: object, place: Place): void {
	ofRequests.set(request, place);
}

/** Finds the place of a request; undefined when it never needed one. */
export function placeOf(request: object): Place | undefined {
	return ofRequests.get(request);
}

/** Does work that may give back the place from far below, by `leavePlace`. */
export function holdPlace<Input, Result>(
	place: Place | undefined,
	work: (input: Input) => Result,
	input: Input,
): Result {
	return place === undefined ? work(input) : places.run(place, work, input);
}

/**
 * Gives back the place of the request at hand, if there is one: to be called before a wait for what is not this process's own work, such as an engine, a
 * password's turn or a provider.
 */
export function leavePlace(): void {
	places.getStore()?.leave();
}

/** Waits without a place, and goes on with one: for a body that is still arriving. @throws AppError rate_limited, overloaded */
export async function waitOutside<T>(place: Place | undefined, wait: Promise<T>): Promise<T> {
	place?.leave();
	const found = await wait;
	await place?.retake();
	return found;
}
