import type { AuditEvent } from "../../../audit/model.ts";
import { type Lease, TRANSITIONS, type Transition } from "../../../leases/model.ts";
import { IS_UNUSED } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import { hasClaim } from "../claims.ts";
import type { Async, Change } from "../database.ts";
import { transition } from "./lease-transition.ts";

type Ending = Pick<Async<Implementations<"write">["leases"]>, "abort" | "settle" | "abandon">;

/** Makes the operations that lead from an open state to a closed one. Closing a retired configuration's last lease removes that configuration and later ones. */
export function ending(db: Change): Ending {
	const close = (way: Transition, changes: Partial<Lease> = {}) => {
		const closed = transition(db, way, ({ closed_at }: { id: string; closed_at: string }) => ({
			...{ due_at: null, closed_at, payload: null },
			...changes,
		}));
		return async (input: { id: string; closed_at: string }, event: AuditEvent): Promise<boolean> => {
			if (!(await closed(input, event))) return false;
			const ofLease = "(realm_id, engine) = (SELECT config_realm_id, engine FROM lease WHERE id = $1)";
			await db.remove("engine_config", `${ofLease} AND ${IS_UNUSED}`, [input.id]);
			return true;
		};
	};
	const settle = close(TRANSITIONS.settle, { last_error: "" });
	return {
		abort: close(TRANSITIONS.abort),
		async settle(input, event) {
			const claimant = db.claimant();
			if (claimant !== undefined && !(await hasClaim(db.sql, input.id, claimant))) return false;
			return settle(input, event);
		},
		abandon: close(TRANSITIONS.abandon),
	};
}
