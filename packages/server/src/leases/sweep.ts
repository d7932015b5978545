import type { Duties } from "../nodes/model.ts";
import type { LeaseClock } from "./clock.ts";
import type { LeaseStore } from "./model.ts";
import type { Pause } from "./pause.ts";
import type { Reaper } from "./reaper.ts";
import { keyOf, type Orphans, type ReconcileNeeds, reconcileTarget, type SweepTarget } from "./reconcile.ts";
import { createWakeup } from "./wakeup.ts";

/** Dependencies of the sweeper. */
export interface SweepNeeds extends Omit<ReconcileNeeds, "stopping"> {
	store: ReconcileNeeds["store"] & { leases: Pick<LeaseStore, "forget">; duties: Duties };
	clock: Pick<LeaseClock, "now" | "lastJump">;
	reaper: Pick<Reaper, "wake">;
	/** Nothing is reconciled while leases are paused. */
	pause: Pick<Pause, "isPaused">;
	/** Lists the targets whose managed names can be listed, each scope once. */
	targets(): Promise<SweepTarget[]>;
}

/** Reconciles the ledger with the targets, at start and every ten minutes. Design: §9 */
export interface Sweeper {
	start(): void;
	/** Sweeps every target once; an error at one does not stop the others. */
	runOnce(): Promise<void>;
	/** Starts a sweep immediately. */
	wake(): void;
	/** Counts the managed names that no lease knows, as last listed. */
	orphans(): number;
	/** Stops the sweeper, and cuts short a reconciliation under way. */
	stop(): Promise<void>;
}

/** Milliseconds between two sweeps. */
const EVERY_MS = 10 * 60 * 1000;

/** Milliseconds for which the name of a closed lease is kept: meanwhile its return is noticed, and nobody else gets it. */
const KEEP_MS = 90 * 24 * 60 * 60 * 1000;

/** Makes the sweeper. @param every_ms milliseconds between two sweeps */
export function createSweeper(needs: SweepNeeds, every_ms = EVERY_MS): Sweeper {
	const wakeup = createWakeup();
	const stopping = new AbortController();
	const orphans: Orphans = new Map();
	let loop: Promise<void> | undefined;

	async function runOnce(): Promise<void> {
		if (await needs.pause.isPaused()) return;
		if (!(await needs.store.duties.take("sweeps"))) return orphans.clear();
		const targets = await needs.targets();
		const keys = new Set(targets.map(keyOf));
		for (const key of [...orphans.keys()]) if (!keys.has(key)) orphans.delete(key);
		for (const target of targets) {
			if (stopping.signal.aborted) return;
			await sweep({ ...needs, stopping: stopping.signal }, target, targets, orphans);
		}
		// After a jump of the clock every name would look old enough.
		if (needs.clock.lastJump() !== undefined) return;
		await needs.store.leases.forget(new Date(needs.system.now().getTime() - KEEP_MS).toISOString());
	}

	async function run(): Promise<void> {
		while (!stopping.signal.aborted) {
			wakeup.clear();
			await runOnce().catch((error) => needs.log("error", "lease.sweep.failed", { error }));
			await wakeup.sleep(every_ms);
		}
	}

	return {
		start() {
			loop ??= run();
		},
		runOnce,
		wake: () => wakeup.wake(),
		orphans: () => orphans.values().reduce((sum, { size }) => sum + size, 0),
		async stop() {
			stopping.abort();
			wakeup.wake();
			await loop;
		},
	};
}

async function sweep(
	needs: SweepNeeds & ReconcileNeeds,
	target: SweepTarget,
	all: readonly SweepTarget[],
	orphans: Orphans,
): Promise<void> {
	try {
		const zombies = await reconcileTarget(needs, target, all, orphans);
		if (zombies === 0) return;
		needs.log("warn", "lease.zombies", { count: zombies });
		needs.reaper.wake();
	} catch (error) {
		needs.log("error", "lease.sweep.failed", { error });
	}
}
