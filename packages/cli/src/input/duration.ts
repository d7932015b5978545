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

/**
 * An instant, from how long ago it was, such as `2h` or `7d`, or as it is.
 * @param name of the option that it was given to
 * @throws Failure usage when it is neither
 */
export function parseInstant(name: string, text: string, now_ms: number): string {
	if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return new Date(now_ms - parseDuration(name, text)).toISOString();
	if (/^\d{4}-\d\d-\d\d(?:[Tt ][\d:.]+(?:[Zz]|[+-]\d\d:\d\d))?$/.test(text) && !Number.isNaN(Date.parse(text)))
		return new Date(text).toISOString();
	throw new Failure("usage", `${name} takes a duration such as 2h or 7d, or an instant such as 2030-01-31T00:00:00Z`);
}

/** Fields of engines that hold a lifetime: a param, and settings. */
const LIFETIMES = new Set(["ttl", "default_ttl", "max_ttl", "token_ttl"]);

/** Fields for an engine, with each lifetime in days as hours: engines know no days. Any other text is for the server to judge. */
export function lifetimesInHours(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
	return Object.fromEntries(
		Object.entries(fields).map(([name, value]) => [name, LIFETIMES.has(name) ? inHours(value) : value]),
	);
}

function inHours(lifetime: unknown): unknown {
	const [, days] = (typeof lifetime === "string" && /^(\d{1,5})d$/.exec(lifetime)) || [];
	return days === undefined ? lifetime : `${Number(days) * 24}h`;
}
