/* The checker of roles against a search of every order, on short random histories. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../faults/random.ts";
import type { Operation } from "./history.ts";
import { findDisorder } from "./roles.ts";

const HISTORIES = 5000;
const MAX_OPERATIONS = 6;

/** Answers of each kind. */
const STATUSES = { bind: [201, 409], unbind: [200, 404], look: [200, 404] } as const;

function someOperation(random: Random): Operation {
	const kind = (["bind", "unbind", "look"] as const)[random.below(3)] ?? "look";
	const isUnknown = random.below(5) === 0;
	const start_ms = random.below(20);
	return {
		...{ kind, subject: "r", node: 0, token: undefined, value: undefined, version: undefined, request_id: undefined },
		status: isUnknown ? 0 : (STATUSES[kind][random.below(2)] ?? 0),
		outcome: isUnknown ? "unknown" : "done",
		start_ms,
		end_ms: isUnknown ? Number.POSITIVE_INFINITY : start_ms + 0.5 + random.below(8),
	};
}

/** Tells whether the operations have an order from that state on: tries each that none of the others precedes. */
function haveOrder(operations: readonly Operation[], isBound: boolean): boolean {
	if (operations.every(({ outcome }) => outcome === "unknown")) return true;
	return operations.some((first) => {
		const others = operations.filter((other) => other !== first);
		if (others.some(({ end_ms }) => end_ms < first.start_ms)) return false;
		return after(first, isBound).some((state) => haveOrder(others, state));
	});
}

/** States that an operation may leave. */
function after({ kind, status, outcome }: Operation, isBound: boolean): boolean[] {
	const found = { bind: status === 409, unbind: status === 200, look: status === 200 }[kind as keyof typeof STATUSES];
	const changed = kind === "look" ? isBound : kind === "bind";
	if (outcome === "unknown") return [isBound, changed];
	return found === isBound ? [changed] : [];
}

test("the checker finds disorder where no order of the operations explains all answers", () => {
	const random = seededRandom(20);
	const counts = { ordered: 0, disordered: 0 };
	for (let turn = 0; turn < HISTORIES; turn++) {
		const operations = Array.from({ length: 1 + random.below(MAX_OPERATIONS) }, () => someOperation(random));
		const isOrdered = haveOrder(operations, false);
		counts[isOrdered ? "ordered" : "disordered"]++;
		assert.equal(findDisorder(operations).length === 0, isOrdered, JSON.stringify(operations));
	}
	assert.ok(counts.ordered > 500 && counts.disordered > 500, JSON.stringify(counts));
});
