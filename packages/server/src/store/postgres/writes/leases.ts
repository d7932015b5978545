import {
	type Lease,
	type LeaseState,
	type LeaseStore,
	type RevokeReason,
	TRANSITIONS,
	type Transition,
} from "../../../leases/model.ts";
import { from } from "../../lease-states.ts";
import type { Change } from "../database.ts";

/** Selects the leases to revoke together. */
type Selection = Parameters<LeaseStore["revokeMany"]>[0];

/** Columns that a transition sets, by the state that a lease is in. */
function leadTo({ leads, reason }: Transition) {
	return ({ state }: Pick<Lease, "state">): Partial<Lease> => ({
		state: (leads as Partial<Record<LeaseState, LeaseState>>)[state] ?? state,
		...(reason !== undefined && { reason }),
	});
}

/** Marks active leases of a realm, user or engine, or of their intersection, to be revoked. @returns how many */
export function revokeLeases(db: Change, selection: Selection, reason: RevokeReason): Promise<number> {
	return mark(db, TRANSITIONS.revoke, selection, { reason, due_at: selection.now_ms });
}

/** Marks the leases that are being made, which are revoked as soon as they exist. @returns how many */
export function forewarnLeases(db: Change, selection: Selection, reason: RevokeReason): Promise<number> {
	return mark(db, TRANSITIONS.forewarn, selection, { reason });
}

function mark(
	db: Change,
	transition: Transition,
	{ realm_id, user_id, engine }: Selection,
	changes: Partial<Lease>,
): Promise<number> {
	const values: unknown[] = [];
	const conditions = [from(transition), "due_at IS NOT NULL"];
	for (const [column, value] of Object.entries({ realm_id, user_id, engine }))
		if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`);
	const to = leadTo(transition);
	return db.update("lease", (before) => ({ ...to(before), ...changes }), conditions.join(" AND "), values);
}
