import { bySubject, describe, type Operation } from "./history.ts";

/** Effect of an operation on whether the role is there; undefined where its answer contradicts what was there. */
type Step = (isBound: boolean) => boolean | undefined;

/** Maximum number of operations on one realm whose outcome nobody knows: each doubles what is possible. */
export const MAX_UNKNOWN = 8;

/** Finds realms whose operations on a role have no order that explains all answers: each takes effect between its start and its answer. */
export function findDisorder(operations: readonly Operation[]): string[] {
	return [...bySubject(operations, "bind", "unbind", "look").values()].flatMap((ofRealm) => {
		const stuck = firstWithoutOrder(ofRealm);
		return stuck === undefined ? [] : [`no order explains ${describe(stuck)}`];
	});
}

/** Finds the effect of an operation with this answer; undefined when it certainly has none. */
function stepOf({ kind, status, outcome }: Operation): Step | undefined {
	if (outcome === "void" || (outcome === "unknown" && kind === "look")) return undefined;
	if (outcome === "unknown") return () => kind === "bind";
	const before =
		(expected: boolean, after: boolean): Step =>
		(isBound) =>
			isBound === expected ? after : undefined;
	if (kind === "look") return status === 200 ? before(true, true) : before(false, false);
	if (kind === "bind") return status === 201 ? before(false, true) : before(true, true);
	return status === 200 ? before(true, false) : before(false, false);
}

/**
 * Follows what is possible from one answer to the next: whether the role is there, and which of the operations that have begun have taken effect.
 * @returns the first operation whose answer nothing explains
 */
function firstWithoutOrder(operations: readonly Operation[]): Operation | undefined {
	const moments = operations
		.flatMap((operation) => {
			const step = stepOf(operation);
			if (step === undefined) return [];
			const { start_ms, end_ms } = operation;
			const start = { at: start_ms, isEnd: false, operation, step };
			return end_ms === Number.POSITIVE_INFINITY ? [start] : [start, { ...start, at: end_ms, isEnd: true }];
		})
		.sort((one, other) => one.at - other.at || Number(one.isEnd) - Number(other.isEnd));
	const open = new Map<Operation, { bit: number; step: Step }>();
	let possible = new Set([0]);
	for (const { isEnd, operation, step } of moments) {
		if (!isEnd) {
			open.set(operation, { bit: freeBit(open), step });
			continue;
		}
		const bit = open.get(operation)?.bit ?? 0;
		possible = new Set([...reachable(possible, open)].filter((state) => state & bit).map((state) => state & ~bit));
		if (possible.size === 0) return operation;
		// One whose outcome is unknown stays open: it may take effect later, or never.
		open.delete(operation);
	}
	return undefined;
}

/** Lowest bit of a state: whether the role is there. The others: which of the open operations have taken effect. */
const IS_BOUND = 1;

function freeBit(open: ReadonlyMap<Operation, { bit: number }>): number {
	const used = [...open.values()].reduce((bits, { bit }) => bits | bit, IS_BOUND);
	for (let bit = 2; bit > 0; bit <<= 1) if ((used & bit) === 0) return bit;
	throw new Error("too many operations at the same time");
}

/** Adds every state that open operations lead to, in any order. */
function reachable(
	states: ReadonlySet<number>,
	open: ReadonlyMap<Operation, { bit: number; step: Step }>,
): Set<number> {
	const found = new Set(states);
	// A set is walked to its end, including what is added on the way.
	for (const state of found) {
		for (const { bit, step } of open.values()) {
			if (state & bit) continue;
			const isBound = step((state & IS_BOUND) === IS_BOUND);
			if (isBound !== undefined) found.add((state & ~IS_BOUND) | bit | Number(isBound));
		}
	}
	return found;
}
