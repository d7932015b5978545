import type { Registry } from "prom-client";
import { onceAMinute } from "../limits.ts";
import type { SecretStore } from "../secrets/model.ts";
import type { System } from "../system.ts";
import { prometheus } from "./prometheus.ts";
import { askForSeries } from "./store-metrics.ts";

const { Gauge } = prometheus;

/** Dependencies of the metrics of expiring secrets. */
export interface ExpiryMetricsNeeds {
	store: { secrets: Pick<SecretStore, "countExpiring"> };
	system: Pick<System, "now">;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Highest number of secrets that are counted: it stands for more than 10,000. */
const MAX_COUNTED = 10_001;

/** Adds the series of expiring secrets, counted at most once a minute. */
export function addExpiryMetrics({ store, system }: ExpiryMetricsNeeds, registers: Registry[]): void {
	const within = (days: number) => {
		const before = new Date(system.now().getTime() + days * DAY_MS).toISOString();
		return store.secrets.countExpiring(before, MAX_COUNTED);
	};
	const measure = onceAMinute(async () => ({ "0d": await within(0), "14d": await within(14) }));
	new Gauge({
		name: "svc_secrets_expiring",
		help: "Secrets whose expires_at passes within this time; 10001 stands for more than 10,000",
		labelNames: ["within"],
		registers,
		async collect() {
			const counts = await askForSeries(measure);
			if (counts === undefined) return this.reset();
			for (const [name, count] of Object.entries(counts)) this.labels(name).set(count);
		},
	});
}
