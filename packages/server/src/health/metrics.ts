import type { AuditStore } from "../audit/model.ts";
import type { Limits } from "../limits.ts";
import type { System } from "../system.ts";
import type { Build } from "./build.ts";
import { addConnectionMetrics, type ConnectionMetricsNeeds } from "./connection-metrics.ts";
import { addEngineMetrics, type EngineMetricsNeeds, liveLeases } from "./engine-metrics.ts";
import { addExpiryMetrics, type ExpiryMetricsNeeds } from "./expiry-metrics.ts";
import { createHistory, type History, MINUTE_MS } from "./history.ts";
import { addLimitMetrics } from "./limit-metrics.ts";
import { prometheus } from "./prometheus.ts";
import { addRequestMetrics } from "./request-metrics.ts";
import { addStoreMetrics, askForSeries, type StoreMetricsNeeds } from "./store-metrics.ts";

const { Gauge, Registry } = prometheus;

/** The server's metrics. Labels are patterns and codes, never a realm, key, user or token, because everybody may read them. */
export interface Metrics {
	/** Notes an answered request. @param route the route's pattern @param seconds time to answer */
	answered(method: string, route: string, status: number, seconds: number): void;
	/** Renders all series in the text exposition format. */
	render(): Promise<string>;
	contentType: string;
	/** The same requests over the last hour and day. */
	history: History;
}

/** Dependencies of the metrics. */
export interface MetricsNeeds {
	store: EngineMetricsNeeds["store"] &
		ExpiryMetricsNeeds["store"] &
		StoreMetricsNeeds["store"] & { audit: Pick<AuditStore, "head"> };
	system: Pick<System, "now">;
	build: Build;
	limits: Limits;
	connections: ConnectionMetricsNeeds;
	engines: Omit<EngineMetricsNeeds, "store">;
	backups: {
		/** Tells when the newest was made, in Unix milliseconds; undefined when there is none. */
		newestAt(): number | undefined;
	};
	issuer_keys: {
		/** Counts the issuers of JWTs that give no keys, and whose earlier ones are used. */
		stale(): number;
	};
}

/** Makes the metrics. Spec: API › Health and metrics. */
export function createMetrics(needs: MetricsNeeds): Metrics {
	const registry = new Registry();
	const registers = [registry];
	const requests = addRequestMetrics(registers);
	const history = createHistory(needs.system, async () => ({
		...requests.totals(),
		live_leases: await liveLeases(needs.store),
	}));
	// Without the database a minute has no sample.
	setInterval(() => history.sample().catch(() => undefined), MINUTE_MS).unref();
	addGauges(needs, registers);
	addStoreMetrics(needs, registers);
	addEngineMetrics({ ...needs.engines, store: needs.store }, registers);
	addExpiryMetrics(needs, registers);
	addLimitMetrics(needs, registers);
	addConnectionMetrics(needs.connections, registers);
	return {
		answered: requests.note,
		render: () => registry.metrics(),
		contentType: registry.contentType,
		history,
	};
}

function addGauges(needs: MetricsNeeds, registers: InstanceType<typeof Registry>[]): void {
	const { version, commit } = needs.build;
	const info = new Gauge({
		name: "svc_build_info",
		help: "Version and commit of the server",
		labelNames: ["version", "commit"],
		registers,
	});
	info.labels(version, commit).set(1);
	const started = new Gauge({
		name: "svc_start_time_seconds",
		help: "Start time of the server, in Unix time",
		registers,
	});
	started.set(needs.system.now().getTime() / 1000);
	new Gauge({
		name: "svc_resident_memory_bytes",
		help: "Resident memory",
		registers,
		collect() {
			this.set(process.memoryUsage.rss());
		},
	});
	new Gauge({
		name: "svc_audit_events",
		help: "Events in the audit log",
		registers,
		async collect() {
			const head = await askForSeries(() => needs.store.audit.head());
			if (head === undefined) this.remove();
			else this.set(head.events);
		},
	});
	new Gauge({
		name: "svc_backup_newest_age_seconds",
		help: "Age of the newest backup in seconds; +Inf when there is none, absent when the folder cannot be read",
		registers,
		collect() {
			const age = backupAge(needs);
			if (age === undefined) this.remove();
			else this.set(age);
		},
	});
	addTrusts(needs, registers);
}

function addTrusts(
	{ issuer_keys }: Pick<MetricsNeeds, "issuer_keys">,
	registers: InstanceType<typeof Registry>[],
): void {
	new Gauge({
		name: "svc_trust_keys_stale",
		help: "Issuers of JWTs that gave no keys when they were asked last, and whose earlier keys are used, for an hour at most",
		registers,
		collect() {
			this.set(issuer_keys.stale());
		},
	});
}

/** Tells the newest backup's age in seconds. An unreadable folder must not break the other series. */
function backupAge({ backups, system }: Pick<MetricsNeeds, "backups" | "system">): number | undefined {
	try {
		const made_at = backups.newestAt() ?? Number.NEGATIVE_INFINITY;
		return Math.max(0, system.now().getTime() - made_at) / 1000;
	} catch {
		return undefined;
	}
}
