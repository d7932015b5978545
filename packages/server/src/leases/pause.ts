import type { AuditEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { LeaseStore } from "./model.ts";

/**
 * Whether leases rest. After a restore the ledger is older than what is at the targets: nothing is taken back by itself, and nothing is made
 * that would have to be, until somebody has looked.
 */
export interface Pause {
	isPaused(): boolean;
	/** Ends the rest. @returns false when there was none */
	resume(event: AuditEvent): Promise<boolean>;
}

/** Reads whether leases rest, and says in the log what to do then. */
export async function openPause({ store, log }: { store: { leases: LeaseStore }; log: Log }): Promise<Pause> {
	let isPaused = (await store.leases.pausedAt()) !== undefined;
	if (isPaused) {
		log("warn", "leases.paused", {
			message:
				"the database was restored: no credential is made or taken back by itself until `svc lease resume`; look at `svc lease list` first",
		});
	}
	return {
		isPaused: () => isPaused,
		async resume(event) {
			const wasPaused = await store.leases.resume(event);
			isPaused = false;
			return wasPaused;
		},
	};
}
