import type { AccessRows } from "./writes/current-access.ts";

/**
 * Remembers the rows that say what makers may do, within one transaction: a batch is often of one maker, and reading these rows with their MACs takes a
 * twentieth of a write.
 * @param changes counts changes of rows that grant access; undefined where nobody counts, and nothing is remembered
 * @returns the reads, and the function that forgets all: between transactions, another program may change rows
 */
export function rememberAccess(
	rows: AccessRows,
	changes: () => number | undefined,
): { rows: AccessRows; forget: () => void } {
	const known = new Map<string, unknown>();
	let counted: number | undefined;
	const remembering =
		(name: string, read: (...ids: string[]) => unknown) =>
		(...ids: string[]): unknown => {
			const count = changes();
			if (count === undefined) return read(...ids);
			if (count !== counted) known.clear();
			counted = count;
			const key = [name, ...ids].join(" ");
			const found = known.get(key);
			if (found !== undefined || known.has(key)) return found;
			const answer = read(...ids);
			known.set(key, answer);
			return answer;
		};
	const remembered = Object.entries(rows).map(([name, read]) => [name, remembering(name, read)]);
	return { rows: Object.fromEntries(remembered) as AccessRows, forget: () => known.clear() };
}
