import type { Registry } from "prom-client";
import type { TargetState } from "../leases/model.ts";
import { type EngineHealthNeeds, oldestOverdue } from "./engine-health.ts";
import { prometheus } from "./prometheus.ts";
import { askForSeries } from "./store-metrics.ts";

const { Gauge, Histogram } = prometheus;

/** Dependencies of the metrics of engines and leases. */
export interface EngineMetricsNeeds extends EngineHealthNeeds {
	sweeper: { orphans(): number };
	/** Reports to the listener how late each credential was revoked, in milliseconds. */
	watchLag(listener: (lag_ms: number) => void): void;
}

const LAG_BUCKETS_S = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 86_400];
const STATES: readonly TargetState[] = ["healthy", "away", "blocked"];

/** Adds the series of engines, targets and leases. Labels are engine types and states, never a realm or a name. Design: §9 */
export function addEngineMetrics(needs: EngineMetricsNeeds, registers: Registry[]): void {
	addLeases(needs, registers);
	new Gauge({
		name: "svc_targets",
		help: "Targets of leases, by state",
		labelNames: ["state"],
		registers,
		collect() {
			const targets = needs.reaper.targets();
			for (const state of STATES) this.labels(state).set(targets.filter((target) => target.state === state).length);
		},
	});
	new Gauge({
		name: "svc_engine_processes",
		help: "Running processes of an engine",
		labelNames: ["engine"],
		registers,
		collect() {
			for (const { type, processes } of needs.host.state()) this.labels(type).set(processes);
		},
	});
	new Gauge({
		name: "svc_engine_breaker_open",
		help: "1 while an engine serves no realm because it failed too often",
		labelNames: ["engine"],
		registers,
		collect() {
			for (const { type, breaker } of needs.host.state()) this.labels(type).set(breaker === "open" ? 1 : 0);
		},
	});
	new Gauge({
		name: "svc_engine_refused_realms",
		help: "Realms that an engine does not serve because their own requests made it fail too often",
		labelNames: ["engine"],
		registers,
		collect() {
			for (const { type, refused_realms } of needs.host.state()) this.labels(type).set(refused_realms);
		},
	});
}

/** Counts the live leases of all engines. */
export async function liveLeases({ leases }: Pick<EngineMetricsNeeds["store"], "leases">): Promise<number> {
	const live = (await leases.counts()).filter(({ state }) => state === "active");
	return live.reduce((sum, { count }) => sum + count, 0);
}

function addLeases(needs: EngineMetricsNeeds, registers: Registry[]): void {
	const counted = new Map<string, [engine: string, state: string]>();
	new Gauge({
		name: "svc_leases",
		help: "Leases by engine and state",
		labelNames: ["engine", "state"],
		registers,
		async collect() {
			const counts = await askForSeries(() => needs.store.leases.counts());
			if (counts === undefined) return this.reset();
			// The store need not say that none is left.
			for (const labels of counted.values()) this.labels(...labels).set(0);
			for (const { engine, state, count } of counts) {
				counted.set(`${engine} ${state}`, [engine, state]);
				this.labels(engine, state).set(count);
			}
		},
	});
	new Gauge({
		name: "svc_lease_oldest_overdue_seconds",
		help: "Seconds since the longest overdue lease was due",
		registers,
		async collect() {
			const seconds = await askForSeries(() => oldestOverdue(needs));
			if (seconds === undefined) this.remove();
			else this.set(seconds);
		},
	});
	new Gauge({
		name: "svc_leases_late",
		help: "Leases whose revocation is overdue by more than a minute, or stuck for more than a quarter of an hour",
		labelNames: ["flag"],
		registers,
		collect() {
			const { overdue, stuck } = needs.reaper.lateness();
			this.labels("overdue").set(overdue);
			this.labels("stuck").set(stuck);
		},
	});
	new Gauge({
		name: "svc_leases_paused",
		help: "1 while leases are paused after a restore",
		registers,
		async collect() {
			const isPaused = await askForSeries(() => needs.pause.isPaused());
			if (isPaused === undefined) this.remove();
			else this.set(isPaused ? 1 : 0);
		},
	});
	new Gauge({
		name: "svc_lease_orphans",
		help: "Managed names at targets that belong to no lease, as of the last listing",
		registers,
		collect() {
			this.set(needs.sweeper.orphans());
		},
	});
	const lag = new Histogram({
		name: "svc_lease_revocation_lag_seconds",
		help: "Time from the end of a lease until its credential was seen to be gone",
		buckets: LAG_BUCKETS_S,
		registers,
	});
	needs.watchLag((lag_ms) => lag.observe(lag_ms / 1000));
}
