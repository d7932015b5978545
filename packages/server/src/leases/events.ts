import { type AuditEvent, type EventData, systemEvent } from "../audit/model.ts";
import type { System } from "../system.ts";
import type { Lease } from "./model.ts";

/** Builds an event for a change of a lease that nobody requested. */
export function leaseEvent(
	system: Pick<System, "now">,
	type: AuditEvent["type"],
	lease: Pick<Lease, "id" | "engine" | "name" | "realm_id" | "realm">,
	facts: EventData = {},
): AuditEvent {
	const { id: lease_id, engine, name, realm_id, realm } = lease;
	const data = { lease_id, engine, name, ...facts };
	return systemEvent(system.now(), type, { id: realm_id, slug: realm }, data);
}
