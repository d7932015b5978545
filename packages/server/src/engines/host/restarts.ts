import type { System } from "../../system.ts";
import type { Timing } from "./model.ts";

/** Failures within the window that are borne. */
const MAX_FAILURES = 5;

/** Says when a process may be started after others failed. */
export interface Restarts {
	/** A process failed. */
	failed(reason: string): void;
	/** A call was answered. */
	succeeded(): void;
	/** Milliseconds until a process may be started for a call that is not refused. */
	pause(): number;
	/** Milliseconds until one may be started for a call that is never refused: at most `longest_ms` after a failure. */
	pauseAtMost(longest_ms: number): number;
	/** Why a call is refused now. While the breaker is open, one call at a time goes through: it is the attempt that closes it. */
	refusal(): string | undefined;
	isOpen(): boolean;
	/** Whether a call would be refused now. */
	isRefusing(): boolean;
}

/**
 * Makes the memory of failures, an engine's own or one realm's with it: pauses that double from 0.25 s, and a breaker that opens with the
 * sixth failure within 60 s and then lets one attempt through every 30 s.
 * Design: §8
 */
export function createRestarts(timing: Timing, system: Pick<System, "randomBytes">): Restarts {
	let failures: number[] = [];
	let isOpen = false;
	let [since, pause_ms] = [0, 0];
	let last = "";

	/** Up to a quarter less: engines that fell together do not rise together. */
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
