import { UNSUITABLE, type Unsuitability } from "../health/model.ts";

/** Says that a database answers and must not be used. Another host, or the same one later, may be suitable. */
export class UnsuitableDatabase extends Error {
	readonly reason: Unsuitability;

	constructor(reason: Unsuitability) {
		super(UNSUITABLE[reason]);
		this.reason = reason;
	}
}

/** Name in `meta` of the time at which somebody last accepted that the database has lost changes: a restore, too. */
export const LOSS_ACCEPTED = "loss_accepted";
