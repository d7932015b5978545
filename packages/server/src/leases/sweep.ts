import { createBell } from "./bell.ts";
import type { LeaseClock } from "./clock.ts";
import { type CompareNeeds, compareTarget, keyOf, type Orphans, type SweepTarget } from "./compare.ts";
import type { LeaseStore } from "./model.ts";
import type { Pause } from "./pause.ts";
import type { Reaper } from "./reaper.ts";

/** What sweeping needs. */
export interface SweepNeeds extends Omit<CompareNeeds, "stopping"> {
	store: CompareNeeds["store"] & { leases: Pick<LeaseStore, "forget"> };
	clock: Pick<LeaseClock, "now" | "lastJump">;
	reaper: Pick<Reaper, "wake">;
	/** While leases rest, nothing is compared. */
	pause: Pick<Pause, "isPaused">;
	/** The targets whose managed names can be listed, each scope once. */
	targets(): Promise<SweepTarget[]>;
}

/** Compares targets with the ledger, at start and every ten minutes. Design: §9 */
export interface Sweeper {
	start(): void;
	/** One sweep of every target: one that gives trouble keeps no other from being swept. */
	runOnce(): Promise<void>;
	/** Sweeps at once. */
	wake(): void;
	/** How many managed names no lease knows, as they were last listed. */
	orphans(): number;
	/** Ends; a comparison that is under way is cut short. */
	stop(): Promise<void>;
}

/** Milliseconds between two sweeps. */
const EVERY_MS = 10 * 60 * 1000;

/** Milliseconds for which the name of a closed lease is kept: so long its return is noticed, and nobody else gets it. */
const KEEP_MS = 90 * 24 * 60 * 60 * 1000;

/** Makes the sweeper. @param every_ms milliseconds between two sweeps */
export function createSweeper(needs: SweepNeeds, every_ms = EVERY_MS): Sweeper {
	const bell = createBell();
	const stopping = new AbortController();
	const orphans: Orphans = new Map();
	let loop: Promise<void> | undefined;

	async function runOnce(): Promise<void> {
		if (needs.pause.isPaused()) return;
		const targets = await needs.targets();
		const keys = new Set(targets.map(keyOf));
		for (const key of [...orphans.keys()]) if (!keys.has(key)) orphans.delete(key);
		for (const target of targets) {
			if (stopping.signal.aborted) return;
			await sweep({ ...needs, stopping: stopping.signal }, target, targets, orphans);
		}
		// A clock that jumped would make every name old enough.
		if (needs.clock.lastJump() !== undefined) return;
		await needs.store.leases.forget(new Date(needs.system.now().getTime() - KEEP_MS).toISOString());
	}

	async function run(): Promise<void> {
		while (!stopping.signal.aborted) {
			bell.answer();
			await runOnce().catch((error) => needs.log("error", "lease.sweep.failed", { error }));
			await bell.sleep(every_ms);
		}
	}

	return {
		start() {
			loop ??= run();
		},
		runOnce,
		wake: () => bell.ring(),
		orphans: () => orphans.values().reduce((sum, { size }) => sum + size, 0),
		async stop() {
			stopping.abort();
			bell.ring();
			await loop;
		},
	};
}

async function sweep(
	needs: SweepNeeds & CompareNeeds,
	target: SweepTarget,
	all: readonly SweepTarget[],
	orphans: Orphans,
): Promise<void> {
	try {
		const zombies = await compareTarget(needs, target, all, orphans);
		if (zombies === 0) return;
		needs.log("warn", "lease.zombies", { count: zombies });
		needs.reaper.wake();
	} catch (error) {
		needs.log("error", "lease.sweep.failed", { error });
	}
}
