/** Nanoseconds of each unit. Spec: ENGINES › Endpoints. */
const UNITS: Record<string, bigint> = {
	ns: 1n,
	us: 1_000n,
	µs: 1_000n,
	μs: 1_000n,
	ms: 1_000_000n,
	s: 1_000_000_000n,
	m: 60_000_000_000n,
	h: 3_600_000_000_000n,
};

const DAYS = /^\d{1,6}d$/;
const TOKENS = /^(?:\d{1,15}(?:\.\d{1,15})?(?:ns|us|µs|μs|ms|s|m|h))+$/;
const TOKEN = /(\d+)(?:\.(\d+))?([a-zµμ]+)/g;

const NANOSECONDS_PER_MS = 1_000_000n;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The longest text and the longest time of a duration: a century. */
const MAX_CHARACTERS = 64;
const MAX_MS = 100 * 366 * DAY_MS;

/** A text that is no duration. The message shows what one looks like and never quotes the text. */
export class DurationError extends Error {
	override readonly name = "DurationError";
}

/**
 * Reads a duration: number-and-unit tokens such as `90m` or `1h30m` with the units ns, us, ms, s, m, h.
 * @param options `days`: also a whole number of days, such as `30d`
 * @returns milliseconds, above 0; fractional only if the duration is, cut off below a nanosecond
 * @throws DurationError
 * Spec: ENGINES › Endpoints
 */
export function parseDuration(text: unknown, options: { days?: boolean } = {}): number {
	const example = options.days === true ? "30d, 12h or 1h30m" : "1h, 90m or 1h30m";
	const refuse = (why: string) => new DurationError(`${why}, such as ${example}`);
	if (typeof text !== "string") throw refuse("a duration is a text");
	const inDays = options.days === true && DAYS.test(text);
	if (!inDays && (text.length > MAX_CHARACTERS || !TOKENS.test(text))) {
		throw refuse(
			`a duration is numbers with the units ns, us, ms, s, m, h${options.days === true ? ", or days (d)" : ""}`,
		);
	}
	const ms = inDays ? Number.parseInt(text, 10) * DAY_MS : sum(text);
	if (ms <= 0) throw refuse("a duration is more than nothing");
	if (ms > MAX_MS) throw refuse("a duration is at most a hundred years");
	return ms;
}

/** Adds whole nanoseconds, because 1.1 times an hour is not exact in floating point. */
function sum(text: string): number {
	let total = 0n;
	for (const [, whole = "", fraction = "", unit = ""] of text.matchAll(TOKEN)) {
		total += (BigInt(whole + fraction) * (UNITS[unit] ?? 0n)) / 10n ** BigInt(fraction.length);
	}
	return Number(total / NANOSECONDS_PER_MS) + Number(total % NANOSECONDS_PER_MS) / 1e6;
}

/** Writes whole milliseconds as people do: `24h`, `1h30m`; `90d` becomes `2160h`. */
export function formatDuration(milliseconds: number): string {
	const parts: string[] = [];
	let rest = milliseconds;
	for (const [unit, size] of [
		["h", 3_600_000],
		["m", 60_000],
		["s", 1000],
		["ms", 1],
	] as const) {
		const count = Math.floor(rest / size);
		if (count > 0) parts.push(`${count}${unit}`);
		rest -= count * size;
	}
	return parts.join("") || "0s";
}
