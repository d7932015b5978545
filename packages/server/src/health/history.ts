import type { System } from "../system.ts";

/** Kinds of answered requests that the history counts. */
export type Kind = "reads" | "writes" | "denials" | "failed_sign_ins" | "others";

const KINDS: readonly Kind[] = ["reads", "writes", "denials", "failed_sign_ins"];

/** One span of the history. */
export interface Span extends Record<Exclude<Kind, "others">, number> {
	/** Beginning, in Unix milliseconds. */
	since: number;
	/** Milliseconds within which 99 of 100 requests were answered, rounded up by less than half; undefined without requests. */
	p99_ms: number | undefined;
}

/** Counts of the last hour and day, of this process, in memory of fixed size. */
export interface History {
	note(kind: Kind, seconds: number): void;
	/** The last hour in 60 spans of a minute, or the last day in 96 of a quarter of an hour, the oldest first. */
	read(of: "hour" | "day"): Span[];
}

const MINUTE_MS = 60_000;
/** Upper bounds in milliseconds, each half more than the one before: 0.25 ms to about 20 minutes. The last one takes what is slower. */
const BOUNDS_MS = Array.from({ length: 39 }, (_, step) => 0.25 * 1.5 ** step);
const FIELDS = KINDS.length + BOUNDS_MS.length;

/** Spans of one length in a ring: each has the number of its time, its counts and its histogram. */
class Ring {
	readonly #span_ms: number;
	readonly #times: Float64Array;
	readonly #counts: Uint32Array;

	constructor(spans: number, span_ms: number) {
		this.#span_ms = span_ms;
		this.#times = new Float64Array(spans).fill(-1);
		this.#counts = new Uint32Array(spans * FIELDS);
	}

	note(now_ms: number, kind: number, bucket: number): void {
		const time = Math.floor(now_ms / this.#span_ms);
		const at = time % this.#times.length;
		const start = at * FIELDS;
		if (this.#times[at] !== time) {
			this.#times[at] = time;
			this.#counts.fill(0, start, start + FIELDS);
		}
		if (kind >= 0) this.#add(start + kind);
		this.#add(start + KINDS.length + bucket);
	}

	#add(index: number): void {
		this.#counts[index] = (this.#counts[index] ?? 0) + 1;
	}

	read(now_ms: number): Span[] {
		const last = Math.floor(now_ms / this.#span_ms);
		const { length } = this.#times;
		return Array.from({ length }, (_, index) => {
			const time = last - length + 1 + index;
			const at = time % length;
			const isKept = this.#times[at] === time;
			const counts = isKept ? this.#counts.subarray(at * FIELDS, (at + 1) * FIELDS) : new Uint32Array(FIELDS);
			return spanOf(time * this.#span_ms, counts);
		});
	}
}

function spanOf(since: number, counts: Uint32Array): Span {
	const [reads = 0, writes = 0, denials = 0, failed_sign_ins = 0] = counts;
	return { since, reads, writes, denials, failed_sign_ins, p99_ms: p99(counts.subarray(KINDS.length)) };
}

function p99(histogram: Uint32Array): number | undefined {
	const all = histogram.reduce((sum, count) => sum + count, 0);
	if (all === 0) return undefined;
	const wanted = Math.ceil(all * 0.99);
	let counted = 0;
	const bucket = histogram.findIndex((count) => {
		counted += count;
		return counted >= wanted;
	});
	return BOUNDS_MS[bucket];
}

/** Makes an empty history: a restart forgets the one before. */
export function createHistory(system: Pick<System, "now">): History {
	const rings = { hour: new Ring(60, MINUTE_MS), day: new Ring(96, 15 * MINUTE_MS) };
	return {
		note(kind, seconds) {
			const now_ms = system.now().getTime();
			const found = BOUNDS_MS.findIndex((bound) => seconds * 1000 <= bound);
			const bucket = found === -1 ? BOUNDS_MS.length - 1 : found;
			for (const ring of [rings.hour, rings.day]) ring.note(now_ms, KINDS.indexOf(kind), bucket);
		},
		read: (of) => rings[of].read(system.now().getTime()),
	};
}

const SIGN_IN =
	/^POST \/(?:api\/v1\/auth\/(?:login|sso\/token|(?:ldap|saml)\/.*)|console)$|^GET \/api\/v1\/auth\/oidc\/.*callback$/;

/** Tells what an answered request was. Probes and metrics are neither reads nor writes. @param route its pattern */
export function kindOf(method: string, route: string, status: number): Kind {
	if (status === 401 && SIGN_IN.test(`${method} ${route}`)) return "failed_sign_ins";
	if (status === 403) return "denials";
	const isCounted = status < 400 && (route === "/console" || /^\/api\/v1\/(?!health)/.test(route));
	if (!isCounted) return "others";
	return method === "GET" || method === "HEAD" ? "reads" : "writes";
}
