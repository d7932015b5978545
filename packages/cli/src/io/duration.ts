/** Milliseconds of each unit, the smallest first. */
export const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration for a person, in its largest unit. @param whole makes the number of units whole; what is left over does not count by default */
export function describeDuration(ms: number, whole: (units: number) => number = Math.floor): string {
	const [unit, size] = Object.entries(UNIT_MS).findLast(([, size]) => ms >= size) ?? ["s", 1000];
	return `${Math.max(0, whole(ms / size))}${unit}`;
}

/** Milliseconds around the present that count as now: the clocks of two machines differ by more than nothing. */
const PRESENT_MS = 1000;

/** An instant as a person says it, such as `5m ago` or `in 3d`; a text that is no instant stays unchanged. */
export function relativeTime(instant: string, now_ms: number = Date.now()): string {
	const away_ms = Date.parse(instant) - now_ms;
	if (Number.isNaN(away_ms)) return instant;
	if (Math.abs(away_ms) < PRESENT_MS) return "now";
	return away_ms < 0 ? `${describeDuration(-away_ms)} ago` : `in ${describeDuration(away_ms, Math.round)}`;
}
