import type { AuditEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { Awaitable } from "../operation.ts";
import type { LeaseStore } from "./model.ts";

/**
 * The pause of leases after a restore, when the ledger is older than the targets: the server neither revokes on its own nor makes
 * credentials that it would have to revoke, until somebody has looked.
 */
export interface Pause {
	/** True once no pause can be left: nothing need be asked. */
	readonly hasEnded: boolean;
	/** Tells whether leases are paused. Another server may have ended the pause, so a pause is asked for each time. */
	isPaused(): Awaitable<boolean>;
	/** Ends the pause. @returns false when there was none */
	resume(event: AuditEvent): Promise<boolean>;
}

/** Reads whether leases are paused, and if so logs what to do. */
export async function openPause({
	store,
	log,
}: {
	store: { leases: Pick<LeaseStore, "pausedAt" | "resume"> };
	log: Log;
}): Promise<Pause> {
	const pause = {
		/** Only a restore begins a pause, and no server runs meanwhile. */
		hasEnded: (await store.leases.pausedAt()) === undefined,
		async isPaused() {
			pause.hasEnded ||= (await store.leases.pausedAt()) === undefined;
			return !pause.hasEnded;
		},
		async resume(event: AuditEvent) {
			const wasPaused = await store.leases.resume(event);
			pause.hasEnded = true;
			return wasPaused;
		},
	};
	if (!pause.hasEnded) {
		log("warn", "leases.paused", {
			message:
				"the database was restored: no credential is made or revoked automatically until you run `svc lease resume`; check `svc lease list` first",
		});
	}
	return pause;
}
