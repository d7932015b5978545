import { type Lease, type LeaseStore, type RevokeReason, TRANSITIONS, type Transition } from "../../../leases/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { transit, transition } from "./lease-transition.ts";

type Revoking = Pick<Async<Implementations<"write">["leases"]>, "revoke" | "revokeMany" | "reopen" | "markLost">;

/** Selects the leases to revoke together. */
type Selection = Parameters<LeaseStore["revokeMany"]>[0];

/** Makes the operations that lead from active to revoking, or back to revoking. */
export function revoking(db: Change): Revoking {
	return {
		async revoke({ id, due_at, reason }, event) {
			const [before] = await db.stored("lease", "id = $1", [id]);
			const changes = { reason, ...(due_at !== undefined && { due_at }) };
			if ((await transit(db, TRANSITIONS.revoke, changes, "id = $1", [id])) > 0) db.append(event);
			return before?.state;
		},
		async revokeMany(selection, event) {
			const revoked = await revokeLeases(db, selection, "requested");
			const count = revoked + (await forewarnLeases(db, selection, "requested"));
			db.append(event, { count });
			return count;
		},
		reopen: transition(db, TRANSITIONS.reopen, ({ due_at }) => ({ due_at, closed_at: null, attempts: 0 })),
		async markLost({ id, last_error }, event) {
			const isNew = "id = $1 AND last_error <> $2";
			if ((await transit(db, TRANSITIONS.markLost, { last_error }, isNew, [id, last_error])) === 0) return false;
			db.append(event);
			return true;
		},
	};
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
	way: Transition,
	{ realm_id, user_id, engine }: Selection,
	changes: Partial<Lease>,
): Promise<number> {
	const values: unknown[] = [];
	const conditions = ["due_at IS NOT NULL"];
	for (const [column, value] of Object.entries({ realm_id, user_id, engine }))
		if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`);
	return transit(db, way, changes, conditions.join(" AND "), values);
}
