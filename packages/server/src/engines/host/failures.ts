import { LRUCache } from "lru-cache";
import type { System } from "../../system.ts";
import type { Timing } from "./model.ts";
import { createRestarts, type Restarts } from "./restarts.ts";

/** Who a process failed with: a realm, by its id; the core, which asks for nobody; or the engine alone, before anybody asked it. */
export type Culprit = string;

export const CORE: Culprit = "core";
export const ENGINE: Culprit = "engine";

/** Longest pause before a process is started for the core, in milliseconds: it revokes and lists, and is never refused. */
const LONGEST_PAUSE_MS = 5000;

/** Failures of all realms within the window after which processes are started for realms one at a time, a second apart. */
const MAX_FREE = 20;

/** Realms of which failures are remembered. */
const MAX_REALMS = 1024;

/** The failures of one engine with one configuration: what one realm's members do to it is held against that realm alone. */
export interface Failures {
	/** Why a call is refused now; the core's never is. */
	refusal(of: Culprit): string | undefined;
	/** Milliseconds until a process may be started for a call. */
	pause(of: Culprit): number;
	started(): void;
	/** @returns whether calls of the same are refused from now on */
	failed(of: Culprit, reason: string): boolean;
	/** A call was answered. */
	succeeded(of: Culprit): void;
	/** Whether calls of anybody are refused. */
	isOpen(): boolean;
}

/** Makes the memory of failures of one engine with one configuration. Design: §8, §13 */
export function createFailures(timing: Timing, system: Pick<System, "randomBytes">): Failures {
	const known = new LRUCache<Culprit, Restarts>({ max: MAX_REALMS });
	const [engine, core] = [createRestarts(timing, system), createRestarts(timing, system)];
	let recent: number[] = [];
	let started_at = Number.NEGATIVE_INFINITY;

	const of = (culprit: Culprit): Restarts | undefined => {
		if (culprit === ENGINE) return engine;
		return culprit === CORE ? core : known.get(culprit);
	};

	function make(realm: Culprit): Restarts {
		const made = createRestarts(timing, system);
		known.set(realm, made);
		return made;
	}

	/** However many realms take turns in it, a crash costs the start of a process. */
	function pace(): number {
		const now = performance.now();
		const isFast = recent.length > MAX_FREE && now - (recent[0] ?? 0) < timing.window_ms;
		return isFast ? Math.max(0, started_at + timing.pace_ms - now) : 0;
	}

	return {
		refusal: (culprit) => (culprit === CORE ? undefined : (of(culprit)?.refusal() ?? engine.refusal())),
		pause(culprit) {
			if (culprit === CORE) return Math.max(engine.pauseAtMost(LONGEST_PAUSE_MS), core.pauseAtMost(LONGEST_PAUSE_MS));
			return Math.max(engine.pause(), of(culprit)?.pause() ?? 0, pace());
		},
		started() {
			started_at = performance.now();
		},
		failed(culprit, reason) {
			recent = [...recent.slice(-MAX_FREE), performance.now()];
			const restarts = of(culprit) ?? make(culprit);
			restarts.failed(reason);
			return culprit !== CORE && restarts.isOpen();
		},
		succeeded(culprit) {
			engine.succeeded();
			of(culprit)?.succeeded();
		},
		isOpen: () => engine.isOpen() || known.values().some((restarts) => restarts.isOpen()),
	};
}
