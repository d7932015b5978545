import { describe, type Logged, type Operation, type Removal } from "./history.ts";

/** Finds credentials that two servers removed at the same time: only one may have the claim. */
export function findTwoHolders(removals: readonly Removal[]): string[] {
	return [...Map.groupBy(removals, ({ name }) => name).values()].flatMap((ofName) => {
		const inOrder = ofName.toSorted((one, other) => one.start_ms - other.start_ms);
		return inOrder.flatMap((removal, index) => {
			const last = inOrder[index - 1];
			if (last?.end_ms === undefined || last.pid === removal.pid || last.end_ms < removal.start_ms) return [];
			return [`two servers remove ${removal.name} at the same time`];
		});
	});
}

/**
 * Finds credentials that the log does not explain.
 * @param names those that are at the target after the run
 */
export function findLost(
	operations: readonly Operation[],
	log: readonly Logged[],
	names: ReadonlySet<string>,
): string[] {
	const events = Map.groupBy(log, ({ type }) => type);
	const of = (type: string) => events.get(type) ?? [];
	const revoked = countBy(of("lease.revoked"), ({ lease_id }) => lease_id);
	const created = countBy(of("lease.created"), ({ name }) => name);
	const leases = new Map(of("engine.generate").map(({ name, lease_id }) => [name, lease_id]));
	const timesRevoked = (name: string) => revoked.get(leases.get(name)) ?? 0;
	const twice = [...revoked].filter(([, times]) => times > 1).map(([id, times]) => `lease ${id} ended ${times} times`);
	const unexplained = [...names]
		.filter((name) => !leases.has(name) || timesRevoked(name) > 0)
		.map((name) => `${name} is at the target, and no lease of it is open`);
	const odd = operations.filter(({ kind, outcome, subject }) => {
		if (outcome !== "done") return false;
		if (kind === "generate") return created.get(subject) !== 1;
		return kind === "end" && (timesRevoked(subject) !== 1 || names.has(subject));
	});
	return [
		...twice,
		...unexplained,
		...odd.map((operation) => `the log or the target contradicts ${describe(operation)}`),
	];
}

function countBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, number> {
	const counts = new Map<Key, number>();
	for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
	return counts;
}
