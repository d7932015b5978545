import type { Registry } from "prom-client";
import { BOUNDS_S, kindOf, type Totals } from "./history.ts";
import { prometheus } from "./prometheus.ts";

/** Counts of the answered requests. */
export interface RequestCounts {
	/** Notes an answered request. @param route the route's pattern @param seconds time to answer */
	note(method: string, route: string, status: number, seconds: number): void;
	/** Sums up all requests. */
	totals(): Omit<Totals, "live_leases">;
}

/** Requests of one method and route. */
interface Durations {
	readonly labels: Readonly<Record<"method" | "route", string>>;
	/** Requests within each bound but not the one before, and at last those beyond all. */
	readonly within: number[];
	seconds: number;
}

/** Requests of one method, route and status. */
interface Answers {
	readonly status: number;
	readonly durations: Durations;
	count: number;
}

/** The answers of one method and route. */
interface Method {
	readonly durations: Durations;
	readonly byStatus: Map<number, Answers>;
}

const DURATION = "svc_http_request_duration_seconds";

/** Adds the series of answered requests. They are counted here: prom-client makes a text of the labels twice a request, in 2 µs. */
export function addRequestMetrics(registers: Registry[]): RequestCounts {
	const answers: Answers[] = [];
	const durations: Durations[] = [];
	const byRoute = new Map<string, Map<string, Method>>();
	new prometheus.Counter({
		name: "svc_http_requests_total",
		help: "Answered requests",
		labelNames: ["method", "route", "status"],
		registers,
		collect() {
			this.reset();
			for (const { durations, status, count } of answers)
				this.labels(durations.labels.method, durations.labels.route, String(status)).inc(count);
		},
	});
	const histogram = {
		name: DURATION,
		get: async () => ({
			name: DURATION,
			help: "Time to answer",
			type: "histogram",
			values: durations.flatMap(seriesOf),
		}),
	};
	for (const registry of registers) registry.registerMetric(histogram as never);
	const add = (method: string, route: string) => {
		const made = { labels: { method, route }, within: [...BOUNDS_S, 0].fill(0), seconds: 0 };
		durations.push(made);
		return { durations: made, byStatus: new Map<number, Answers>() };
	};
	return {
		note(method, route, status, seconds) {
			const methods = inserted(byRoute, route, () => new Map<string, Method>());
			const { durations, byStatus } = inserted(methods, method, () => add(method, route));
			const answer = inserted(byStatus, status, () => {
				const made = { status, durations, count: 0 };
				answers.push(made);
				return made;
			});
			answer.count++;
			durations.seconds += seconds;
			let at = 0;
			while (at < BOUNDS_S.length && seconds > (BOUNDS_S[at] as number)) at++;
			durations.within[at] = (durations.within[at] as number) + 1;
		},
		totals: () => sumUp(answers, durations),
	};
}

/** Finds an entry, or makes it. A text made of all keys would be hashed at each request. */
function inserted<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
	const found = map.get(key);
	if (found !== undefined) return found;
	const made = make();
	map.set(key, made);
	return made;
}

/** Writes the series of a histogram: the requests within each bound, their time and their number. */
function seriesOf({ labels, within, seconds }: Durations) {
	let all = 0;
	const buckets = [...BOUNDS_S, "+Inf"].map((le, at) => {
		all += within[at] ?? 0;
		return { metricName: `${DURATION}_bucket`, labels: { le, ...labels }, value: all };
	});
	return [
		...buckets,
		{ metricName: `${DURATION}_sum`, labels, value: seconds },
		{ metricName: `${DURATION}_count`, labels, value: all },
	];
}

function sumUp(answers: Iterable<Answers>, durations: Iterable<Durations>): Omit<Totals, "live_leases"> {
	const kinds = { reads: 0, writes: 0, denials: 0, failed_sign_ins: 0, others: 0 };
	for (const { durations, status, count } of answers)
		kinds[kindOf(durations.labels.method, durations.labels.route, status)] += count;
	const sums = [...BOUNDS_S, 0].fill(0);
	for (const { within } of durations) for (const [at, count] of within.entries()) sums[at] = (sums[at] ?? 0) + count;
	let all = 0;
	return {
		kinds,
		within: sums.map((count) => {
			all += count;
			return all;
		}),
	};
}
