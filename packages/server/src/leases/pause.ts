import type { AuditEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { LeaseStore } from "./model.ts";

/**
 * The pause of leases after a restore, when the ledger is older than the targets: the server neither revokes on its own nor makes
 * credentials that it would have to revoke, until somebody has looked.
 */
export interface Pause {
	readonly isPaused: boolean;
	/** Ends the pause. @returns false when there was none */
	resume(event: AuditEvent): Promise<boolean>;
}

/** Reads whether leases are paused, and if so logs what to do. */
export async function openPause({ store, log }: { store: { leases: LeaseStore }; log: Log }): Promise<Pause> {
	const isPaused = (await store.leases.pausedAt()) !== undefined;
	if (isPaused) {
		log("warn", "leases.paused", {
			message:
				"the database was restored: no credential is made or revoked automatically until you run `svc lease resume`; check `svc lease list` first",
		});
	}
	const pause = {
		isPaused,
		async resume(event: AuditEvent) {
			const wasPaused = await store.leases.resume(event);
			pause.isPaused = false;
			return wasPaused;
		},
	};
	return pause;
}
