import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as pause } from "node:timers/promises";

/** A request's slot among those handled at the same time. Design: §13 */
export interface Slot {
	/** Releases the slot to another request; the remaining work needs none. */
	release(): void;
	/** Waits for a slot again. @throws AppError rate_limited, overloaded */
	reacquire(): Promise<void>;
	/** Calls a listener once the answer is sent or its connection is closed. @returns a function that forgets the listener */
	onOver(listener: () => void): () => void;
}

/**
 * Milliseconds before a refusal to begin work is sent. After an immediate refusal, clients that retry immediately would take more time with
 * refusals than with requests. The connection waits meanwhile, and each source has only so many.
 */
export const REFUSAL_MS = 1000;

/** Property of a request that has a slot. A WeakMap of requests would keep the garbage collector busy. */
const SLOT = Symbol("slot");

// The alternative is an argument through every rule down to engines, providers and drivers. AsyncLocalStorage makes promises slower: 10 µs per request.
const slots = new AsyncLocalStorage<Slot>();

/** Stores the slot of a node:http request. */
export function setSlot(request: object, slot: Slot): void {
	(request as { [SLOT]?: Slot })[SLOT] = slot;
}

/** Finds the slot of a request; undefined when it never needed one. */
export function slotOfRequest(request: object): Slot | undefined {
	return (request as { [SLOT]?: Slot })[SLOT];
}

/** Runs work that may give back the slot at any depth, with `releaseSlot`. */
export function withSlot<Input, Result>(slot: Slot | undefined, work: (input: Input) => Result, input: Input): Result {
	return slot === undefined ? work(input) : slots.run(slot, work, input);
}

/**
 * Gives back the current request's slot, if it has one. Call it before you wait for anything that is not this process's own work, such as an engine,
 * a password check or a provider.
 */
export function releaseSlot(): void {
	slots.getStore()?.release();
}

/**
 * Calls a listener when nobody waits for the current request's answer any more.
 * @returns a function that forgets the listener
 */
export function onClientGone(listener: () => void): () => void {
	return slots.getStore()?.onOver(listener) ?? (() => undefined);
}

/** Holds back a refusal of work that was never begun, without a slot. */
export async function delayRefusal(): Promise<void> {
	releaseSlot();
	await pause(REFUSAL_MS);
}

/** Waits without a slot, then takes one again: for a body that is still arriving. @throws AppError rate_limited, overloaded */
export async function waitWithoutSlot<T>(slot: Slot | undefined, wait: Promise<T>): Promise<T> {
	slot?.release();
	const found = await wait;
	await slot?.reacquire();
	return found;
}
