import type { StoreReason, StoreState } from "../../health/model.ts";
import { system } from "../../system.ts";

/** Reasons of the state, the most serious first: its connections, the last change, whether it may be written, how fast it answers. */
interface Troubles {
	links?: StoreReason | undefined;
	changes?: StoreReason | undefined;
	mode?: "read_only" | undefined;
	pace?: "slow" | undefined;
}

/** State of a database, as its server sees it. */
export interface DatabaseState {
	note(found: Troubles): void;
	now(): StoreState;
	/** Tells whether the last change failed because the database could not write. */
	isFailing(): boolean;
}

/** Creates the state. @param onChange called whenever status or reason has changed */
export function createDatabaseState(onChange: ((state: StoreState) => void) | undefined): DatabaseState {
	let troubles: Troubles = {};
	let state: StoreState = { type: "postgresql", status: "healthy" };
	return {
		note(found) {
			troubles = { ...troubles, ...found };
			const { status, reason } = worst(troubles);
			if (status === state.status && reason === state.reason) return;
			const since = status === state.status ? state.since : system.now().toISOString();
			state = { type: "postgresql", status, ...(reason !== undefined && { reason, since }) };
			onChange?.(state);
		},
		now: () => state,
		isFailing: () => troubles.changes !== undefined,
	};
}

function worst({ links, changes, mode, pace }: Troubles): Pick<StoreState, "status" | "reason"> {
	if (links !== undefined) return { status: "away", reason: links };
	const failing = changes ?? mode;
	if (failing !== undefined) return { status: "failing", reason: failing };
	return pace === undefined ? { status: "healthy" } : { status: "slow", reason: pace };
}
