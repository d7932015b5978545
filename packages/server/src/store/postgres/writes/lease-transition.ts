import type { AuditEvent } from "../../../audit/model.ts";
import type { Lease, LeaseState, Transition } from "../../../leases/model.ts";
import { from } from "../../lease-states.ts";
import type { Change } from "../database.ts";

/** Makes the columns that a transition sets, by the state that a lease is in. */
export function leadTo({ leads, reason }: Transition): (before: Pick<Lease, "state">) => Partial<Lease> {
	const ways: Partial<Record<LeaseState, LeaseState>> = leads;
	return ({ state }) => ({ state: ways[state] ?? state, ...(reason !== undefined && { reason }) });
}

/** Leads leases that meet a condition through a transition, and sets other columns. @returns how many */
export function transit(
	db: Change,
	transition: Transition,
	changes: Partial<Lease>,
	condition: string,
	values: readonly unknown[],
): Promise<number> {
	const to = leadTo(transition);
	return db.update(
		"lease",
		(before) => ({ ...to(before), ...changes }),
		`${condition} AND ${from(transition)}`,
		values,
	);
}

/** Makes an operation from a transition of one lease. It writes its event only when something changed. */
export function transition<Input extends { id: string }>(
	db: Change,
	way: Transition,
	changesOf: (input: Input) => Partial<Lease>,
): (input: Input, event: AuditEvent) => Promise<boolean> {
	return async (input, event) => {
		if ((await transit(db, way, changesOf(input), "id = $1", [input.id])) === 0) return false;
		db.append(event);
		return true;
	};
}
