import type { System } from "../system.ts";

/** Kinds of answered requests that the history counts. */
export type Kind = "reads" | "writes" | "denials" | "failed_sign_ins" | "others";

const KINDS: readonly Exclude<Kind, "others">[] = ["reads", "writes", "denials", "failed_sign_ins"];

/** Bounds in seconds of the histogram of answers. */
export const BOUNDS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Counts since the server began. */
export interface Totals {
	kinds: Readonly<Record<Exclude<Kind, "others">, number>>;
	/** Requests answered within each of the bounds, and at last all of them. */
	within: readonly number[];
	/** Leases that are live now. */
	live_leases: number;
}

/** One span of the history. */
export interface Span extends Record<Exclude<Kind, "others">, number> {
	/** Beginning, in Unix milliseconds. */
	since: number;
	/** The bound in milliseconds within which 99 of 100 requests were answered, at most the largest one; undefined without requests. */
	p99_ms: number | undefined;
	/** Leases that were live at its end. */
	live_leases: number;
}

/** Counts of the last hour and day, of this process, in memory of fixed size. */
export interface History {
	/** Keeps the totals of this minute. To be called once a minute. */
	sample(): Promise<void>;
	/** The last hour in 60 spans of a minute, or the last day in 96 of a quarter of an hour, the oldest first. */
	read(of: "hour" | "day"): Promise<Span[]>;
}

/** Milliseconds between two samples. */
export const MINUTE_MS = 60_000;

/** Totals at the beginnings of spans of one length, as many as are shown. */
class Samples {
	readonly #span_ms: number;
	readonly #kept: (readonly [index: number, totals: Totals])[] = [];
	readonly #most: number;

	constructor(most: number, span_ms: number) {
		this.#most = most;
		this.#span_ms = span_ms;
	}

	/** @param elapsed_ms since the server began; only one near the beginning of a span is kept */
	keep(elapsed_ms: number, totals: Totals): void {
		const index = Math.round(elapsed_ms / this.#span_ms);
		if (Math.abs(elapsed_ms - index * this.#span_ms) > MINUTE_MS / 2 || this.#kept.at(-1)?.[0] === index) return;
		this.#kept.push([index, totals]);
		if (this.#kept.length > this.#most) this.#kept.shift();
	}

	/** Returns the spans up to now. Without a sample at its beginning, a span has what came before it. */
	read(start_ms: number, elapsed_ms: number, current: Totals): Span[] {
		const last = Math.floor(elapsed_ms / this.#span_ms);
		const first = last - this.#most + 1;
		const kept = new Map(this.#kept);
		let before = this.#kept.find(([index]) => index >= first)?.[1] ?? current;
		return Array.from({ length: this.#most }, (_, at) => {
			const index = first + at;
			before = kept.get(index) ?? before;
			const after = index === last ? current : (kept.get(index + 1) ?? before);
			return spanOf(start_ms + index * this.#span_ms, before, after);
		});
	}
}

function spanOf(since: number, before: Totals, after: Totals): Span {
	const [reads = 0, writes = 0, denials = 0, failed_sign_ins = 0] = KINDS.map(
		(kind) => after.kinds[kind] - before.kinds[kind],
	);
	const within = after.within.map((count, at) => count - (before.within[at] ?? 0));
	return { since, reads, writes, denials, failed_sign_ins, p99_ms: p99(within), live_leases: after.live_leases };
}

function p99(within: readonly number[]): number | undefined {
	const all = within.at(-1) ?? 0;
	if (all === 0) return undefined;
	const found = BOUNDS_S.find((_, at) => (within[at] ?? 0) >= Math.ceil(all * 0.99));
	return (found ?? BOUNDS_S.at(-1) ?? 0) * 1000;
}

/**
 * Makes an empty history: a restart forgets the one before. It looks at the metrics' totals once a minute, so a request costs it nothing.
 * @param totals counts since the server began
 */
export function createHistory(system: Pick<System, "now">, totals: () => Promise<Totals>): History {
	const start_ms = system.now().getTime();
	const elapsed = () => system.now().getTime() - start_ms;
	const samples = { hour: new Samples(60, MINUTE_MS), day: new Samples(96, 15 * MINUTE_MS) };
	const none = { kinds: { reads: 0, writes: 0, denials: 0, failed_sign_ins: 0 }, within: [], live_leases: 0 };
	for (const one of [samples.hour, samples.day]) one.keep(0, none);
	return {
		async sample() {
			const [elapsed_ms, found] = [elapsed(), await totals()];
			for (const one of [samples.hour, samples.day]) one.keep(elapsed_ms, found);
		},
		read: async (of) => samples[of].read(start_ms, elapsed(), await totals()),
	};
}

const SIGN_IN =
	/^POST \/(?:api\/v1\/auth\/(?:login|sso\/token|(?:ldap|saml)\/.*)|console)$|^GET \/api\/v1\/auth\/oidc\/.*callback$/;

/** Classifies an answered request. Probes and metrics are neither reads nor writes. @param route its pattern */
export function kindOf(method: string, route: string, status: number): Kind {
	if (status === 401 && SIGN_IN.test(`${method} ${route}`)) return "failed_sign_ins";
	if (status === 403) return "denials";
	const isCounted = status < 400 && (route === "/console" || /^\/api\/v1\/(?!health)/.test(route));
	if (!isCounted) return "others";
	return method === "GET" || method === "HEAD" ? "reads" : "writes";
}
