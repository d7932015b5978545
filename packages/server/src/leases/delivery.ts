import type { Log } from "../log.ts";
import type { System } from "../system.ts";
import type { LeaseClock } from "./clock.ts";
import { leaseEvent } from "./events.ts";
import type { LeaseStore } from "./model.ts";
import type { Reaper } from "./reaper.ts";

/** Dependencies of tracking delivery. */
export interface DeliveryNeeds {
	store: { leases: Pick<LeaseStore, "delivered" | "revoke" | "byId"> };
	system: Pick<System, "now">;
	log: Log;
	clock: Pick<LeaseClock, "now">;
	reaper: Pick<Reaper, "wake">;
}

/** Milliseconds for which delivered answers are gathered. If the server ends first, their delivery stays unknown: no harm is done. */
const GATHER_MS = 100;

/**
 * Makes the function that tracks the delivery of a credential: it notes one that arrived and revokes one that did not.
 * Design: §9
 */
export function createDelivery(needs: DeliveryNeeds) {
	const { store, system, log } = needs;
	let arrived: string[] = [];

	async function note(): Promise<void> {
		const ids = arrived;
		arrived = [];
		await store.leases.delivered({ ids, at: system.now().toISOString() });
	}

	async function revokeUndelivered(id: string): Promise<void> {
		const lease = await store.leases.byId(id);
		if (lease === undefined) return;
		const event = leaseEvent(system, "lease.revoking", lease, { reason: "undelivered" });
		await store.leases.revoke({ id, due_at: needs.clock.now(), reason: "undelivered" }, event);
		needs.reaper.wake();
	}

	const attempt = (work: Promise<void>) =>
		void work.catch((error: unknown) => log("error", "lease.delivery.failed", { error }));
	return (lease_id: string, onAnswered: (listener: (isDelivered: boolean) => void) => void): void => {
		onAnswered((isDelivered) => {
			if (!isDelivered) attempt(revokeUndelivered(lease_id));
			else if (arrived.push(lease_id) === 1) setTimeout(() => attempt(note()), GATHER_MS).unref();
		});
	};
}
