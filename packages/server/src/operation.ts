/** Caches in front of the store: who may do what, sealed secrets, configurations of engines. A change names those that it makes void. */
export const CACHES = ["access", "secrets", "configs"] as const;

export type CacheName = (typeof CACHES)[number];

type Signature = (...args: never[]) => unknown;

declare const signature: unique symbol;

/** Carries the arguments and the result of an operation, which exist at compile time only. */
interface Typed<Run> {
	readonly [signature]?: Run;
}

/** How the answer to a read is remembered. */
export interface Cached<Run extends Signature = Signature> {
	in: CacheName;
	/** Names the question by its arguments; two that differ in their answers have different names. */
	key(...args: Parameters<Run>): string;
	/** Whether it is also remembered that nothing was found. */
	absence?: true;
	/** Length of an answer, where answers can be long: they share a few MiB. */
	bytesOf?(answer: NonNullable<ReturnType<Run>>): number;
}

/** A read that looks at few rows. An adapter may answer it at once, without a promise: a request that only reads then waits for nothing. */
export interface Read<Run extends Signature = Signature> extends Typed<Run> {
	kind: "read";
	cached: Cached<Run> | undefined;
}

/** A read that may look at all rows of a table. It never holds up whoever asks for something else. */
export interface Scan<Run extends Signature = Signature> extends Typed<Run> {
	kind: "scan";
}

/** A change with its event, in one transaction; answered once it is durable. What it decides comes back as its result. */
export interface Write<Run extends Signature = Signature> extends Typed<Run> {
	kind: "write";
	/** Caches that hold something that the change may make untrue. */
	forgets: readonly CacheName[];
	/** Events that count while the disk is low; 0 for a change that is made all the same. Of a list of inputs each one counts. */
	events: number;
	/** Whether it does a bounded part, and is run again until it answers 0, so that others get their turn between. */
	inParts: boolean;
}

/** An event that stands alone, appended to the log; answered once it is durable. */
export interface Append<Run extends Signature = Signature> extends Typed<Run> {
	kind: "append";
}

/** The one declaration of an operation of the store's port. */
export type Operation = Read | Scan | Write | Append;

/** Declares a read of few rows. */
export function read<Run extends Signature>(cached?: Cached<Run>): Read<Run> {
	return { kind: "read", cached };
}

/** Declares a read that may look at many rows. */
export function scan<Run extends Signature>(): Scan<Run> {
	return { kind: "scan" };
}

/** Declares a change. One that does not say what it leaves true makes every cache void. */
export function write<Run extends Signature>(
	options: Partial<Pick<Write, "forgets" | "events" | "inParts">> = {},
): Write<Run> {
	return { kind: "write", forgets: CACHES, events: 1, inParts: false, ...options };
}

/** Declares how events that stand alone are appended. */
export function append<Run extends Signature>(): Append<Run> {
	return { kind: "append" };
}

/** An answer, at once or later: whoever asks awaits it either way. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Operations as whoever asks sees them. */
export type Port<Operations> = {
	[Name in keyof Operations]: Operations[Name] extends Read<infer Run>
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
