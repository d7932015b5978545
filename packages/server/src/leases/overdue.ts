import type { AuditEvent, AuditStore } from "../audit/model.ts";
import type { System } from "../system.ts";
import type { LeaseClock } from "./clock.ts";
import type { LeaseStore } from "./model.ts";

/** Milliseconds after which a late removal is overdue, and stuck. */
const FLAGS = [
	{ flag: "overdue", after_ms: 60_000 },
	{ flag: "stuck", after_ms: 15 * 60_000 },
] as const;

/** Dependencies of the watch over late removals. */
export interface OverdueNeeds {
	store: { audit: Pick<AuditStore, "append">; leases: Pick<LeaseStore, "byId"> };
	system: Pick<System, "now" | "uptimeMs">;
	clock: Pick<LeaseClock, "now">;
}

/** Lateness of revocations. */
export interface Lateness {
	/** Number of leases whose removal failed, and of targets at which only others wait, that are more than a minute late. */
	overdue: number;
	/** Number of those that are more than a quarter of an hour late. */
	stuck: number;
	/** Milliseconds by which the latest one is late. */
	oldest_ms: number;
}

/** The audit event for something late. With a `lease_id`, it is written only while that lease is open. */
type LateEvent = Omit<AuditEvent, "timestamp">;

/** Watches over late removals: single leases that failed, and targets at which leases wait. Design: §9 */
export interface Overdue {
	/** @param since_ms when it should have been gone, by the lease clock; a name already watched keeps its own @param event without flag */
	watch(name: string, target: string, since_ms: number, event: LateEvent): void;
	forget(name: string): void;
	/** Time since when it should have been gone; undefined when it is not watched. */
	since(name: string): number | undefined;
	/** Writes one event for each that became overdue or stuck since the last check, whatever the number of attempts. Call it once a second. */
	check(): Promise<void>;
	lateness(): Lateness;
}

interface Watched {
	target: string;
	since_ms: number;
	event: LateEvent;
	/** Number of flags reported so far. */
	reported: number;
}

/** Milliseconds between two checks: the reaper asks for one with each pass, and makes one whenever it is woken. */
const CHECK_EVERY_MS = 1000;

/** Leases that each check looks up, in turn: somebody may have abandoned them. */
const LOOKED_UP = 20;

/** Makes the watch, kept in memory: after a restart, what is still late is reported once more. */
export function createOverdue({ store, system, clock }: OverdueNeeds): Overdue {
	const watched = new Map<string, Watched>();
	let checkedAt = Number.NEGATIVE_INFINITY;

	/** Tells whether a name must still be watched, and moves it to the end. */
	async function keep(name: string, entry: Watched): Promise<boolean> {
		const { lease_id } = entry.event.data;
		const lease = typeof lease_id === "string" ? await store.leases.byId(lease_id) : undefined;
		if (watched.get(name) !== entry) return false;
		watched.delete(name);
		if (lease?.due_at === null) return false;
		watched.set(name, entry);
		return true;
	}

	async function tell(name: string, entry: Watched, flags: number): Promise<void> {
		if (!(await keep(name, entry))) return;
		const { flag } = FLAGS[flags - 1] ?? {};
		const { data, ...event } = entry.event;
		await store.audit.append({ ...event, timestamp: system.now().toISOString(), data: { ...data, flag } });
		entry.reported = flags;
	}

	return {
		watch(name, target, since_ms, event) {
			if (!watched.has(name)) watched.set(name, { target, since_ms, event, reported: 0 });
		},
		forget: (name) => void watched.delete(name),
		since: (name) => watched.get(name)?.since_ms,
		async check() {
			if (system.uptimeMs() - checkedAt < CHECK_EVERY_MS) return;
			checkedAt = system.uptimeMs();
			for (const [name, entry] of [...watched.entries().take(LOOKED_UP)]) await keep(name, entry);
			const now_ms = clock.now();
			const all = [...watched].map(([name, entry]) => ({ name, entry, flags: flagsAt(now_ms - entry.since_ms) }));
			const news = all.filter(({ entry, flags }) => flags > entry.reported);
			await Promise.all(news.map(({ name, entry, flags }) => tell(name, entry, flags)));
		},
		lateness() {
			const now_ms = clock.now();
			const all = [...watched.values()];
			const withFailures = new Set(all.flatMap(({ target, event }) => ("lease_id" in event.data ? [target] : [])));
			// A lease that failed and waits for its target counts once.
			const counted = all.filter(({ target, event }) => "lease_id" in event.data || !withFailures.has(target));
			const late = counted.map(({ since_ms }) => now_ms - since_ms);
			return {
				overdue: late.filter((ms) => flagsAt(ms) >= 1).length,
				stuck: late.filter((ms) => flagsAt(ms) >= 2).length,
				oldest_ms: late.reduce((most, ms) => Math.max(most, ms), 0),
			};
		},
	};
}

function flagsAt(late_ms: number): number {
	return FLAGS.filter(({ after_ms }) => late_ms > after_ms).length;
}
