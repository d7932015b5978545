import { type StoreReason, textOf } from "../health/model.ts";

/** Reason why a database that answers is not used. */
export type Unsuitability = Extract<
	StoreReason,
	"standby" | "read_only" | "old_primary" | "other_database" | "lost_answers"
>;

/** Says that a database answers and must not be used. Another host, or the same one later, may be suitable. */
export class UnsuitableDatabase extends Error {
	readonly reason: Unsuitability;

	constructor(reason: Unsuitability) {
		super(textOf(reason));
		this.reason = reason;
	}
}

/** Name in `meta` of the time at which somebody last accepted that the database has lost changes: a restore, too. */
export const LOSS_ACCEPTED = "loss_accepted";
