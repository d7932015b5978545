import type { Registry } from "prom-client";
import type { Store } from "../store/store.ts";
import { STORE_REASONS } from "./model.ts";
import { prometheus } from "./prometheus.ts";

const { Gauge } = prometheus;

/** Dependencies of the metrics of the store. */
export interface StoreMetricsNeeds {
	store: Pick<Store, "state" | "answerSeconds">;
}

/** Milliseconds that a scrape waits for the store: a database that is silent must not hide the other series. */
const PATIENCE_MS = 2000;

/** Adds the series of the store's state, which need no answer of it. */
export function addStoreMetrics({ store }: StoreMetricsNeeds, registers: Registry[]): void {
	new Gauge({
		name: "svc_store_trouble",
		help: "1 while the database does not work, or is slow, for this reason",
		labelNames: ["reason"],
		registers,
		collect() {
			const { reason } = store.state();
			for (const one of STORE_REASONS) this.labels(one).set(one === reason ? 1 : 0);
		},
	});
	new Gauge({
		name: "svc_store_answer_seconds",
		help: "Time in which PostgreSQL answered a question that reads nothing, asked every two seconds; absent with SQLite",
		registers,
		collect() {
			const seconds = store.answerSeconds();
			if (seconds === undefined) this.remove();
			else this.set(seconds);
		},
	});
}

/** Asks the store for a series. @returns undefined while it does not answer: the series is then absent */
export async function askForSeries<Answer>(ask: () => Answer | Promise<Answer>): Promise<Answer | undefined> {
	const { promise: late, resolve } = Promise.withResolvers<undefined>();
	const timer = setTimeout(resolve, PATIENCE_MS, undefined);
	try {
		return await Promise.race([ask(), late]);
	} catch {
		return undefined;
	} finally {
		clearTimeout(timer);
	}
}
