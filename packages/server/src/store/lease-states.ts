import type { LeaseState, Transition } from "../leases/model.ts";

const quoted = (state: LeaseState) => `'${state}'`;

/** Condition that a lease's state is one of these, as SQL. SQLite uses an index only if the states are in the index's order. */
export function isIn(states: readonly LeaseState[]): string {
	const [first, ...others] = states.map(quoted);
	return others.length === 0 ? `state = ${first}` : `state IN (${[first, ...others].join(", ")})`;
}

/** Condition that a lease is in a state that a transition starts from, as SQL. */
export function from({ leads }: Transition): string {
	return isIn(Object.keys(leads) as LeaseState[]);
}

/** Columns that a transition sets, as SQL. */
export function to({ leads, reason }: Transition): string {
	const ways = Object.entries(leads) as [LeaseState, LeaseState][];
	const ends = [...new Set(ways.map(([, end]) => end))];
	const state =
		ends.length === 1 && ends[0] !== undefined
			? quoted(ends[0])
			: `CASE state ${ways.map(([start, end]) => `WHEN ${quoted(start)} THEN ${quoted(end)}`).join(" ")} END`;
	return [`state = ${state}`, ...(reason === undefined ? [] : [`reason = '${reason}'`])].join(", ");
}
