import { BOUNDS_S, kindOf, type Totals } from "./history.ts";
import type { prometheus } from "./prometheus.ts";

/**
 * Sums up the series of answered requests.
 * @param requests counts by method, route and status
 * @param durations histograms by method and route, with the bounds BOUNDS_S
 */
export async function totalsOf(
	requests: InstanceType<typeof prometheus.Counter>,
	durations: InstanceType<typeof prometheus.Histogram>,
): Promise<Omit<Totals, "live_leases">> {
	const kinds = { reads: 0, writes: 0, denials: 0, failed_sign_ins: 0, others: 0 };
	for (const { labels, value } of (await requests.get()).values) {
		kinds[kindOf(String(labels.method), String(labels.route), Number(labels.status))] += value;
	}
	const places = new Map<unknown, number>([...BOUNDS_S, "+Inf"].map((bound, at) => [bound, at]));
	const within = Array.from(places, () => 0);
	for (const { labels, value } of (await durations.get()).values) {
		const at = places.get((labels as { le?: unknown }).le);
		if (at !== undefined) within[at] = (within[at] ?? 0) + value;
	}
	return { kinds, within };
}
