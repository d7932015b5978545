import type { Fault, RecoverySteps } from "./points.ts";

/** A fault that a target keeps for the next request of that kind. */
export interface Struck {
	/** Settles when the request has reached the point where it stays. */
	readonly struck: Promise<unknown>;
	/** Releases the held request, although nobody waits for it any more; settles when it can have no later effect. */
	release(): Promise<void>;
}

/** A system that holds credentials, with the methods that these tests need. */
export interface Target {
	/** The engine's type. */
	readonly type: string;
	readonly configuration: object;
	/** Params that ask for a credential. */
	readonly params: object;
	/** Tells whether a sent create can be kept from landing late. Where it cannot, leases wait for 20 minutes. */
	readonly isFenced: boolean;
	/** Tells whether its configuration has max_connections. */
	readonly isLimited: boolean;
	readonly recovery: RecoverySteps;
	/** Params that revoke a credential. */
	revoking(name: string): object;
	/** Returns all managed names at the target. */
	names(): Promise<string[]>;
	strike(fault: Fault): Promise<Struck>;
	/** Makes an object of that name, as restoring a backup would. */
	revive(name: string): Promise<void>;
	/** Removes the object of that name, as a person would by hand. */
	remove(name: string): Promise<void>;
	stop(): Promise<void>;
}
