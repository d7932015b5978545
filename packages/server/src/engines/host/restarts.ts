import type { System } from "../../system.ts";
import type { Timing } from "./model.ts";

/** Failures tolerated within the window. */
const MAX_FAILURES = 5;

/** Decides when a process may start after others failed. */
export interface Restarts {
	/** Notes that a process failed. */
	failed(reason: string): void;
	/** Notes that a call was answered. */
	succeeded(): void;
	/** Returns milliseconds until a process may start for a call that is not refused. */
	pause(): number;
	/** Returns milliseconds until one may start for a call that is never refused: at most `longest_ms` after a failure. */
	pauseAtMost(longest_ms: number): number;
	/** Returns the reason for refusing a call now. While the breaker is open, single calls pass as attempts to close it. */
	refusal(): string | undefined;
	isOpen(): boolean;
	/** Tells whether a call would be refused now. */
	isRefusing(): boolean;
}

/**
 * Makes the memory of an engine's own failures, or of one realm's with it: pauses double from 0.25 s, and a breaker opens with the sixth
 * failure within 60 s, then lets one attempt pass every 30 s.
 * Design: §8
 */
export function createRestarts(timing: Timing, system: Pick<System, "randomBytes">): Restarts {
	let failures: number[] = [];
	let isOpen = false;
	let [since, pause_ms] = [0, 0];
	let last = "";

	/** Shortens a pause by up to a quarter, so that engines that failed together do not restart together. */
	const shorten = (milliseconds: number) => milliseconds * (1 - system.randomBytes(1).readUInt8() / 1024);
	const wait = (milliseconds: number) => {
		[since, pause_ms] = [performance.now(), shorten(milliseconds)];
	};
	const left = (milliseconds: number) => Math.max(0, since + milliseconds - performance.now());

	return {
		failed(reason) {
			const now = performance.now();
			failures = [...failures.filter((at) => now - at < timing.window_ms), now];
			isOpen ||= failures.length > MAX_FAILURES;
			last = reason;
			const pause = isOpen ? timing.probe_ms : timing.pause_ms * 2 ** (failures.length - 1);
			wait(Math.min(pause, timing.probe_ms));
		},
		succeeded() {
			if (isOpen) failures = [];
			isOpen = false;
		},
		pause: () => (isOpen ? 0 : left(pause_ms)),
		pauseAtMost: (longest_ms) => left(Math.min(pause_ms, longest_ms)),
		refusal() {
			if (!isOpen) return undefined;
			if (left(pause_ms) > 0) return `it failed too often and is left alone for a while; at last, ${last}`;
			wait(timing.probe_ms);
			return undefined;
		},
		isOpen: () => isOpen,
		isRefusing: () => isOpen && left(pause_ms) > 0,
	};
}
