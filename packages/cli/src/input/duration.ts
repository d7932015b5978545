import { Failure } from "../failure.ts";
import { describeDuration, UNIT_MS } from "../io/duration.ts";

/**
 * Milliseconds of a duration such as `30s`, `5m`, `24h` or `7d`.
 * @param name of the option that it was given to
 * @param max_ms the longest accepted
 * @throws Failure usage when it is no duration, or longer
 */
export function parseDuration(name: string, text: string, max_ms = Number.POSITIVE_INFINITY): number {
	const [, number, unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
	if (number === undefined) throw new Failure("usage", `${name} takes a duration such as 30s, 5m, 24h or 7d`);
	const ms = Number(number) * (UNIT_MS[unit] ?? 0);
	if (ms > max_ms) throw new Failure("usage", `${name} takes at most ${describeDuration(max_ms)}`);
	return ms;
}
