import type { Registry } from "prom-client";
import type { Limit, Limits } from "../limits.ts";
import { prometheus } from "./prometheus.ts";
import { askForSeries } from "./store-metrics.ts";

const { Counter, Gauge } = prometheus;

/** Adds the series of limits: use, maximum and refusals of each. Design: §13 */
export function addLimitMetrics({ limits }: { limits: Limits }, registers: Registry[]): void {
	const about = { labelNames: ["limit"], registers } as const;
	new Gauge({
		...about,
		name: "svc_limit_used",
		help: "How much of a limit is in use; for a limit of each source, account or realm, the highest use of any",
		async collect() {
			await Promise.all(
				limits.all().map(async (limit) => {
					const used = await askForSeries(() => limit.used());
					if (used === undefined) this.remove(limit.name);
					else this.labels(limit.name).set(used);
				}),
			);
		},
	});
	new Gauge({
		...about,
		name: "svc_limit_max",
		help: "Value of a limit",
		collect() {
			for (const limit of limits.all()) this.labels(limit.name).set(limit.max);
		},
	});
	new Counter({
		...about,
		name: "svc_limit_refused_total",
		help: "Requests and connections refused because a limit was reached",
		collect() {
			this.reset();
			for (const limit of limits.all().filter(countsRefusals)) this.labels(limit.name).inc(limit.refused());
		},
	});
}

function countsRefusals(limit: Limit): limit is Limit & { refused(): number } {
	return limit.refused !== undefined;
}
