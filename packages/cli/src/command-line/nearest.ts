/** Longest word, and most names, that are compared: 500 names take a few milliseconds. */
const MAX_CHARACTERS = 64;
const MAX_NAMES = 500;
/** Most edits between a typed word and a name near it. */
const MAX_EDITS = 3;
/** Characters that both must have before one counts as the other's beginning, as in `prod` and `production`. */
const MIN_BEGINNING = 3;
/** Most names worth suggesting. */
const MAX_SUGGESTIONS = 3;

/** Finds the names nearest to a typed word, at most three; none when no name is near. Letter case, `-`, `_`, `.` and `/` hardly matter. */
export function nearest(typed: string, names: Iterable<string>): string[] {
	if (typed.length > MAX_CHARACTERS) return [];
	const candidates = [...new Set(names)].filter((name) => name.length <= MAX_CHARACTERS && name !== typed);
	const rated = candidates.slice(0, MAX_NAMES).map((name) => ({ name, edits: editsBetween(fold(typed), fold(name)) }));
	const best = Math.min(MAX_EDITS, ...rated.map(({ edits }) => edits));
	return rated
		.filter(({ edits }) => edits === best)
		.slice(0, MAX_SUGGESTIONS)
		.map(({ name }) => name);
}

/** A question about the names near a typed word, such as `did you mean DB_URI?`; undefined when no name is near. */
export function didYouMean(typed: string, names: Iterable<string>): string | undefined {
	const found = nearest(typed, names);
	return found.length === 0 ? undefined : `did you mean ${found.join(" or ")}?`;
}

function fold(word: string): string {
	return word.toLowerCase().replace(/[-./]/g, "_");
}

/** Edits that turn one word into the other; infinitely many when less than half of the longer word would stay. */
function editsBetween(typed: string, name: string): number {
	const [shorter, longer] = typed.length < name.length ? [typed, name] : [name, typed];
	const distance = longer.length - shorter.length > MAX_EDITS ? Number.POSITIVE_INFINITY : distanceOf(typed, name);
	if (distance <= MAX_EDITS && distance < longer.length / 2) return distance;
	const isBeginning = shorter.length >= MIN_BEGINNING && longer.startsWith(shorter);
	return isBeginning ? MAX_EDITS : Number.POSITIVE_INFINITY;
}

/** The optimal string alignment distance: insertions, deletions, substitutions, and swaps of neighbours. */
function distanceOf(a: string, b: string): number {
	let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
	for (let i = 1; i <= a.length; i++) {
		const row = [i];
		for (let j = 1; j <= b.length; j++) {
			const substituted = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
			const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
			const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : substituted;
			row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substituted, swapped));
		}
		[before, last] = [last, row];
	}
	return last[b.length] ?? 0;
}
