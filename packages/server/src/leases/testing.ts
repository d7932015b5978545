import { countEvents, eventsAfter } from "../testing/events.ts";
import { addLease } from "../testing/leases.ts";
import { createTestLog } from "../testing/log.ts";
import { aLease, newId } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import type { Cleanup } from "../testing/store.ts";
import { openLeaseClock } from "./clock.ts";
import type { Lease, LeaseState, NewLease, Removal } from "./model.ts";
import { createReaper, type ReaperLimits } from "./reaper.ts";
import type { SweepTarget } from "./reconcile.ts";
import { createSweeper, type SweepNeeds } from "./sweep.ts";
import type { Probe } from "./target-health.ts";

/** A target in memory whose behaviour a test sets. */
export interface FakeTarget {
	names: Set<string>;
	/** `lying`: it reports a name as removed and keeps it. `unsure`: a create may still land there. */
	mood: "well" | "away" | "denied" | "rejecting" | "lying" | "unsure";
	/** Names whose removal is denied for lack of rights, whatever the mood. */
	forbidden: Set<string>;
	/** Number of requests. */
	removals: number;
	probes: number;
	/** Runs before each removal. */
	before: (lease: Lease) => Promise<void>;
	remove(lease: Lease): Promise<Removal>;
	probe(): Promise<Probe>;
}

const TROUBLE = {
	away: { outcome: "unreachable", message: "connection refused" },
	denied: { outcome: "denied", message: "no permission" },
	rejecting: { outcome: "rejected", message: "it said no" },
} as const;

/** Makes a target that is well and empty. */
export function createFakeTarget(): FakeTarget {
	return {
		names: new Set(),
		mood: "well",
		forbidden: new Set(),
		removals: 0,
		probes: 0,
		before: async () => undefined,
		async remove(lease) {
			this.removals++;
			await this.before(lease);
			if (this.forbidden.has(lease.name)) return TROUBLE.denied;
			if (this.mood === "lying") return { outcome: "present", message: "it is still there" };
			if (this.mood !== "well" && this.mood !== "unsure") return TROUBLE[this.mood];
			this.names.delete(lease.name);
			return { outcome: this.mood === "unsure" && lease.state === "uncertain" ? "unproven" : "absent" };
		},
		async probe() {
			this.probes++;
			return this.mood === "away" || this.mood === "denied" ? TROUBLE[this.mood] : { outcome: "healthy", message: "" };
		},
	};
}

/** Opens a reaper on the real store, with targets that exist as soon as they are named. */
export async function openReaper(cleanup: Cleanup, limits: Partial<ReaperLimits> = {}) {
	const opened = await openTestRules(cleanup);
	const { store, system } = opened;
	const realm = await addRealm(store, await addAccount(store));
	const { log, entries } = createTestLog();
	const clock = await openLeaseClock({ store, system, log });
	const targets = new Map<string, FakeTarget>();
	const at = (name: string): FakeTarget => {
		const known = targets.get(name) ?? createFakeTarget();
		targets.set(name, known);
		return known;
	};
	const lags: number[] = [];
	let rests = 0;
	const nextDue = async () => {
		const due_at = await store.leases.nextDue();
		rests++;
		return due_at;
	};
	const needs = {
		store: { ...store, leases: { ...store.leases, nextDue } },
		system,
		log,
		clock,
		pause: { isPaused: () => false },
		remove: (lease: Lease) => at(lease.target).remove(lease),
		probe: (target: string) => at(target).probe(),
		onRevoked: (lag_ms: number) => void lags.push(lag_ms),
	};
	const reaper = createReaper(needs, limits);
	cleanup.after(() => reaper.stop());

	/** Makes a lease in a state, with its credential at the target, due now by default. */
	async function add(state: LeaseState, given: Partial<NewLease> = {}): Promise<Lease> {
		const now_ms = clock.now();
		const made = { due_at: now_ms, expires_at: new Date(now_ms).toISOString(), target: "a", id: newId() };
		const lease = aLease(realm.id, { ...made, name: `svc_${made.id.slice(-12)}`, ...given });
		if (state !== "revoked") at(lease.target).names.add(lease.name);
		return addLease(store, state, lease);
	}

	const stateOf = async ({ id }: Pick<Lease, "id">) => (await store.leases.byId(id))?.state;
	/** Counts how often the loop went to rest. */
	const restsOf = () => rests;
	return { ...opened, realm, clock, log, entries, at, needs, reaper, add, lags, stateOf, restsOf };
}

/** Lets time pass in steps of a second, and runs the reaper at each. */
export async function pass(
	{ system, reaper }: Pick<Awaited<ReturnType<typeof openReaper>>, "system" | "reaper">,
	seconds: number,
): Promise<void> {
	for (let second = 0; second < seconds; second++) {
		system.advance(1000);
		await reaper.runOnce();
	}
}

/** Opens a sweeper of one target, shared with others by default. */
export async function openSweeper(cleanup: Cleanup, given: Partial<SweepTarget> = {}) {
	const opened = await openReaper(cleanup);
	const { at, needs, reaper, store, realm } = opened;
	const target: SweepTarget = {
		target: "a",
		scope: "",
		exclusive: false,
		list: async () => [...at("a").names],
		async remove(name) {
			at("a").names.delete(name);
			return { outcome: "absent" };
		},
		...given,
	};
	const sweepNeeds: SweepNeeds = { ...needs, reaper, targets: async () => [target] };
	const sweeper = createSweeper(sweepNeeds);
	cleanup.after(() => sweeper.stop());
	let seen = await countEvents(store);
	/** Reads the events written since the last call. */
	const news = async () => {
		const events = await eventsAfter(store, seen, [realm.id]);
		seen = await countEvents(store);
		return events;
	};
	/** Ages leases beyond a minute. */
	const grow = () => opened.system.advance(120_000);
	return { ...opened, target, sweepNeeds, sweeper, news, grow };
}
