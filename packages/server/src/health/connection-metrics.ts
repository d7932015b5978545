import type { Registry } from "prom-client";
import { prometheus } from "./prometheus.ts";

const { Counter, Gauge } = prometheus;

/** Dependencies of the metrics of connections. */
export interface ConnectionMetricsNeeds {
	/** Counts connections by activity. */
	counts(): Readonly<Record<string, number>>;
	/** Counts those that the server closed, by reason. */
	closed(): Readonly<Record<string, number>>;
	/** Returns the longest turn of the event loop since the last call, in seconds. */
	longestTurn(): number;
}

/** Adds the series of connections, and of the longest turn of the event loop. Design: §13 */
export function addConnectionMetrics(needs: ConnectionMetricsNeeds, registers: Registry[]): void {
	new Gauge({
		name: "svc_connections",
		help: "Open connections by state: silent (no complete head yet), receiving a body, busy, idle",
		labelNames: ["state"],
		registers,
		collect() {
			for (const [state, count] of Object.entries(needs.counts())) this.labels(state).set(count);
		},
	});
	new Counter({
		name: "svc_connections_closed_total",
		help: "Connections closed to make room, because they stayed silent, or because their answer was not read",
		labelNames: ["reason"],
		registers,
		collect() {
			this.reset();
			for (const [reason, count] of Object.entries(needs.closed())) this.labels(reason).inc(count);
		},
	});
	new Gauge({
		name: "svc_event_loop_longest_turn_seconds",
		help: "Longest time that one request held up all others since the last scrape, while connections were open; up to 5 ms too high",
		registers,
		collect() {
			this.set(needs.longestTurn());
		},
	});
}
