/** Caches in front of the store: access, sealed secrets, engine configurations. A change names those it invalidates. */
export const CACHES = ["access", "secrets", "configs"] as const;

export type CacheName = (typeof CACHES)[number];

type Signature = (...args: never[]) => unknown;

declare const signature: unique symbol;

/** Carries an operation's arguments and result, at compile time only. */
interface Typed<Run> {
	readonly [signature]?: Run;
}

/** Caching of a read's answers. */
export interface Cached<Run extends Signature = Signature> {
	in: CacheName;
	/** Number of leading arguments, texts or bytes, that make the cache key. At most one of them may contain spaces. */
	by: number;
	/** Caches empty answers, too. */
	absence?: true;
	/** Tells an answer's length, where answers can be long: they share a few MiB. */
	bytesOf?(answer: NonNullable<ReturnType<Run>>): number;
}

/** A read that looks at few rows. An adapter may answer it without a promise: a request that only reads then waits for nothing. */
export interface Read<Run extends Signature = Signature> extends Typed<Run> {
	kind: "read";
	cached: Cached<Run> | undefined;
}

/** A read that may look at all rows of a table. It never delays other operations. */
export interface Scan<Run extends Signature = Signature> extends Typed<Run> {
	kind: "scan";
}

/** A change with its event, in one transaction; answered once it is durable. Its result says what it decided. */
export interface Write<Run extends Signature = Signature> extends Typed<Run> {
	kind: "write";
	/** Caches that the change may invalidate. */
	forgets: readonly CacheName[];
	/** Events that count while the disk is low on space; 0 for a change that is always allowed. Each of a list of inputs counts. */
	events: number;
	/** Does a bounded part at a time, and runs again until it answers 0, so that others get their turn in between. */
	inBatches: boolean;
}

/** An event without a change, appended to the log; answered once it is durable. */
export interface Append<Run extends Signature = Signature> extends Typed<Run> {
	kind: "append";
}

/**
 * A short-lived fact without an event: a used challenge, a count of failures. An adapter of one server may keep it in memory, where
 * it ends with the server; one of several keeps it where all see it.
 */
export interface Brief<Run extends Signature = Signature> extends Typed<Run> {
	kind: "brief";
}

/** The one declaration of an operation of the store's port. */
export type Operation = Read | Scan | Write | Append | Brief;

/** Declares a read of few rows. */
export function read<Run extends Signature>(cached?: Cached<Run>): Read<Run> {
	return { kind: "read", cached };
}

/** Declares a read that may look at many rows. */
export function scan<Run extends Signature>(): Scan<Run> {
	return { kind: "scan" };
}

/** Declares a change. Without `forgets` it invalidates every cache. */
export function write<Run extends Signature>(
	options: Partial<Pick<Write, "forgets" | "events" | "inBatches">> = {},
): Write<Run> {
	return { kind: "write", forgets: CACHES, events: 1, inBatches: false, ...options };
}

/** Declares an append of events without a change. */
export function append<Run extends Signature>(): Append<Run> {
	return { kind: "append" };
}

/** Declares a question about a short-lived fact, or a change of it. */
export function brief<Run extends Signature>(): Brief<Run> {
	return { kind: "brief" };
}

/** An answer, now or later: the caller awaits it either way. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Operations as their caller sees them. */
export type Port<Operations> = {
	[Name in keyof Operations]: Operations[Name] extends Read<infer Run> | Brief<infer Run>
		? (...args: Parameters<Run>) => Awaitable<ReturnType<Run>>
		: Operations[Name] extends Typed<infer Run extends Signature>
			? (...args: Parameters<Run>) => Promise<ReturnType<Run>>
			: never;
};

/** Operations of one kind as an adapter implements them within a transaction, without a promise. */
export type Implementation<Operations, Kind extends Operation["kind"]> = {
	[Name in keyof Operations as Operations[Name] extends { kind: Kind } ? Name : never]: Operations[Name] extends Typed<
		infer Run
	>
		? Run
		: never;
};
