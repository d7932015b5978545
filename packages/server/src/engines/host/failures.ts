import { LRUCache } from "lru-cache";
import type { Limit } from "../../limits.ts";
import type { System } from "../../system.ts";
import type { Timing } from "./model.ts";

/** Caller over whom a process failed: a realm, by its id; the core, for itself or revoking for a realm; or the engine alone, before any call. */
export type Culprit = string;

export const CORE: Culprit = "core";
export const ENGINE: Culprit = "engine";

const CORE_FOR_REALM = `${CORE} for `;

/** Names the core when it revokes for a realm: the engine's failures then count against this realm's revocations, and no other's. */
export function coreFor(realm_id: string): Culprit {
	return realm_id === "" ? CORE : CORE_FOR_REALM + realm_id;
}

/** Tells whether the core asks, whose calls come first and are never refused. */
export function isCore(culprit: Culprit): boolean {
	return culprit === CORE || culprit.startsWith(CORE_FOR_REALM);
}

/** Longest pause before a process starts for the core, in milliseconds: it revokes and lists, and is never refused. */
const LONGEST_PAUSE_MS = 5000;

/** Failures of all realms within the window after which processes start for realms one at a time, a second apart. */
const MAX_FREE = 20;

/** Realms, and the core for realms, whose failures are remembered. */
const MAX_REALMS = 1024;

/** The failures of one engine with one configuration: those that a realm's members cause count against that realm alone. */
export interface Failures {
	/** Returns the reason for refusing a call now; the core's calls are never refused. */
	refusal(of: Culprit): string | undefined;
	/** Returns milliseconds until a process may start for a call. */
	pause(of: Culprit): number;
	/** Notes that a process starts for a realm. */
	started(): void;
	/** @returns whether calls of the same caller are refused from now on */
	failed(of: Culprit, reason: string): boolean;
	/** Notes that a call was answered. */
	succeeded(of: Culprit): void;
	/** Tells whether every realm's calls are refused. */
	isOpen(): boolean;
	/** Lists the realms whose calls are refused now for their own failures. */
	refused(): Culprit[];
}

/** Makes the record of failures of one engine with one configuration. Design: §8, §13 */
export function createFailures(timing: Timing, system: Pick<System, "randomBytes">): Failures {
	const known = new LRUCache<Culprit, Restarts>({ max: MAX_REALMS });
	const engine = createRestarts(timing, system);
	let recent: number[] = [];
	let started_at = Number.NEGATIVE_INFINITY;

	const of = (culprit: Culprit): Restarts | undefined => (culprit === ENGINE ? engine : known.get(culprit));

	function make(culprit: Culprit): Restarts {
		const made = createRestarts(timing, system);
		known.set(culprit, made);
		return made;
	}

	/** Paces starts for realms: each crash costs the start of a process, however many realms take turns in crashing. */
	function pace(): number {
		const now = performance.now();
		const isFast = recent.length > MAX_FREE && now - (recent[0] ?? 0) < timing.window_ms;
		return isFast ? Math.max(0, started_at + timing.pace_ms - now) : 0;
	}

	return {
		refusal: (culprit) => (isCore(culprit) ? undefined : (of(culprit)?.refusal() ?? engine.refusal())),
		pause(culprit) {
			const ofCore = [engine, of(culprit)].map((restarts) => restarts?.pauseAtMost(LONGEST_PAUSE_MS) ?? 0);
			if (isCore(culprit)) return Math.max(...ofCore);
			return Math.max(engine.pause(), of(culprit)?.pause() ?? 0, pace());
		},
		started() {
			started_at = performance.now();
		},
		failed(culprit, reason) {
			if (!isCore(culprit)) recent = [...recent.slice(-MAX_FREE), performance.now()];
			const restarts = of(culprit) ?? make(culprit);
			restarts.failed(reason);
			return !isCore(culprit) && restarts.isOpen();
		},
		succeeded(culprit) {
			engine.succeeded();
			of(culprit)?.succeeded();
		},
		isOpen: () => engine.isOpen(),
		refused: () => [...known].flatMap(([culprit, it]) => (!isCore(culprit) && it.isRefusing() ? [culprit] : [])),
	};
}

/** Failures tolerated within the window. */
const MAX_FAILURES = 5;

/** Decides when a process may start after others failed. */
interface Restarts {
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
 * Makes the record of an engine's own failures, or of one realm's with it: pauses double from 0.25 s, and a breaker opens with the sixth
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
			if (left(pause_ms) > 0) return `it failed too often and is suspended for a while; last failure: ${last}`;
			wait(timing.probe_ms);
			return undefined;
		},
		isOpen: () => isOpen,
		isRefusing: () => isOpen && left(pause_ms) > 0,
	};
}

/** Name of the limit, and failures of one engine over requests of one account within the window after which its requests are refused. */
const LIMIT = "engine_failures_per_account";
export const MAX_FAILURES_OF_PAYER = 15;

/** Accounts whose failures with an engine are remembered. */
const MAX_PAYERS = 1024;

/**
 * The failures that an account causes with an engine, in all of its realms and with every configuration: realms are free to make. They are fewer than
 * those after which everybody's starts are paced, and more than one realm can cause before it is refused.
 */
export interface PayerFailures {
	/** Returns the reason for refusing an account's call now. */
	refusal(engine: string, payer: string): string | undefined;
	/** @returns true when the account's calls are refused from now on */
	failed(engine: string, payer: string): boolean;
	/** The limit, for display. */
	limit: Limit;
}

/** Makes the record of failures by account. @param window_ms milliseconds for which a failure counts. Design: §13 */
export function createPayerFailures(window_ms: number): PayerFailures {
	const known = new LRUCache<string, number[]>({ max: MAX_PAYERS });
	const nameOf = (engine: string, payer: string) => `${engine} ${payer}`;
	let refused = 0;

	/** Lists the times that still count, and forgets who has none. */
	function recent(name: string): number[] {
		const now = performance.now();
		const times = (known.peek(name) ?? []).filter((at) => now - at < window_ms);
		if (times.length === 0) known.delete(name);
		return times;
	}

	return {
		refusal(engine, payer) {
			if (recent(nameOf(engine, payer)).length < MAX_FAILURES_OF_PAYER) return undefined;
			refused++;
			return `it failed too often over requests of this account and is suspended for it for a while (${LIMIT})`;
		},
		failed(engine, payer) {
			const name = nameOf(engine, payer);
			const times = recent(name);
			known.set(name, [...times, performance.now()].slice(-MAX_FAILURES_OF_PAYER));
			return times.length === MAX_FAILURES_OF_PAYER - 1;
		},
		limit: {
			name: LIMIT,
			max: MAX_FAILURES_OF_PAYER,
			used: () => Math.max(0, ...[...known.keys()].map((name) => recent(name).length)),
			refused: () => refused,
			hint: "requests of one account make an engine fail: the server's log has the reason in engine.failed, and names the account in engine.breaker.open",
		},
	};
}
