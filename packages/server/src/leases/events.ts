import type { AuditEvent, EventData, EventType } from "../audit/model.ts";
import type { System } from "../system.ts";
import type { Lease } from "./model.ts";

/** Builds an event for a change of a lease that nobody requested. */
export function leaseEvent(
	system: Pick<System, "now">,
	type: EventType,
	lease: Pick<Lease, "id" | "engine" | "name" | "realm_id" | "realm">,
	facts: EventData = {},
): AuditEvent {
	const { id: lease_id, engine, name, realm_id, realm } = lease;
	const data = { lease_id, engine, name, ...facts };
	return { timestamp: system.now().toISOString(), type, actor: "system", realm_id, realm, data };
}
