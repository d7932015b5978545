import type { Fault, RecoverySteps } from "./points.ts";

/** A fault that a target has in store for the next request of that kind. */
export interface Struck {
	/** Settles when the request is where it stays. */
	readonly struck: Promise<unknown>;
	/** Lets what was held go its way, though nobody waits for it any more; settles when that can have no effect later. */
	release(): Promise<void>;
}

/** A system that credentials live in, as these tests need it. */
export interface Target {
	/** Of the engine. */
	readonly type: string;
	readonly configuration: object;
	/** What a credential is asked for with. */
	readonly params: object;
	/** Whether a create that was sent can be kept from landing late. Where it cannot, leases wait for 20 minutes. */
	readonly isFenced: boolean;
	/** Whether its configuration has max_connections. */
	readonly isLimited: boolean;
	readonly recovery: RecoverySteps;
	/** Params that revoke a credential. */
	revoking(name: string): object;
	/** The managed names of everything that is there. */
	names(): Promise<string[]>;
	strike(fault: Fault): Promise<Struck>;
	/** Makes something of that name, as a backup would that is put back. */
	revive(name: string): Promise<void>;
	/** Removes what has that name, by hand. */
	remove(name: string): Promise<void>;
	stop(): Promise<void>;
}
