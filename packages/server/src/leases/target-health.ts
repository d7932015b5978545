import type { Log } from "../log.ts";
import type { System } from "../system.ts";
import type { Removal, TargetState } from "./model.ts";

/** Result of probing a target. `healthy` also stands for a target that cannot be probed: a removal will tell. */
export interface Probe {
	outcome: "healthy" | "unreachable" | "denied" | "rejected";
	/** For people; without secrets. */
	message: string;
}

/**
 * Health of a target, and the number of removals it gets. While it is not well, leases wait and it gets only a probe now and then; after a
 * successful probe one lease is tried, and if that succeeds too, all are. Design: §9
 */
export interface TargetHealth {
	readonly state: TargetState;
	/** Start of this state, ISO 8601 UTC. */
	readonly since: string;
	/** Reason why it is not healthy, for people; else empty. */
	readonly message: string;
	/** Tells whether one more removal may start in addition to those under way. */
	hasRoom(under_way: number): boolean;
	/** Notes that a removal starts. */
	begin(): void;
	/** Notes that a removal ended. */
	end(removal: Removal): void;
	/** True if it is probed only because its engine ended over several removals. */
	readonly isSuspected: boolean;
	isProbeDue(): boolean;
	/** Notes that a probe ended. @param has_waiting whether there are leases to try */
	probed(probe: Probe, has_waiting: boolean): void;
	/** Makes the answer for a removal that may not start now. */
	refusal(): Removal;
}

/** Consecutive unanswered removals after which a target counts as away; also those over which its engine ended, until it is probed. */
const MAX_FAILURES = 5;

/** Milliseconds between probes: doubling up to the cap for a target that is away, constant for a blocked one. */
const AWAY_MS = 1000;
const AWAY_CAP_MS = 5000;
const BLOCKED_MS = 60_000;

/** Dependencies of a target's health. */
export interface HealthNeeds {
	system: Pick<System, "now" | "uptimeMs">;
	log: Log;
	/** Concurrent removals at a healthy target. */
	width: number;
}

/** Makes the health of a new target, which counts as healthy. */
export function createTargetHealth(needs: HealthNeeds, target: string): TargetHealth {
	const { system } = needs;
	let [state, since, message]: [TargetState, string, string] = ["healthy", system.now().toISOString(), ""];
	let [failures, crashes] = [0, 0];
	// Whether one lease may be tried after a successful probe, and whether it is under way.
	let [mayTry, isTrying] = [false, false];
	let [pause_ms, probe_at] = [0, 0];

	function turn(to: TargetState, why: string): void {
		message = why;
		if (state === to) return;
		[state, since] = [to, system.now().toISOString()];
		failures = crashes = 0;
		isTrying = false;
		// Perhaps only this lease is refused: trying another one tells.
		mayTry = to === "blocked";
		pause_ms = to === "blocked" ? BLOCKED_MS : AWAY_MS;
		probe_at = system.uptimeMs() + pause_ms;
		if (to === "healthy") needs.log("info", "lease.target.healthy", { message: target });
		else needs.log("error", `lease.target.${to}`, { message: `${target}: ${why}` });
	}

	/** Notes that the engine ended over a removal. If the target answers probes, the lease is to blame: others need not wait. */
	function endedOver(): void {
		crashes++;
		if (isTrying) turn("healthy", "");
		else if (state === "healthy" && crashes === MAX_FAILURES) probe_at = Math.max(probe_at, system.uptimeMs());
	}

	return {
		get state() {
			return state;
		},
		get since() {
			return since;
		},
		get message() {
			return message;
		},
		hasRoom: (under_way) => (state === "healthy" ? under_way < needs.width : mayTry),
		begin() {
			isTrying = mayTry && state === "away";
			mayTry = false;
		},
		end(removal) {
			if ("is_engine" in removal) return endedOver();
			if (removal.outcome === "denied") turn("blocked", removal.message);
			else if (removal.outcome !== "unreachable") turn("healthy", "");
			else if (state === "healthy" && ++failures >= MAX_FAILURES) turn("away", removal.message);
			if (removal.outcome !== "unreachable") failures = crashes = 0;
		},
		get isSuspected() {
			return state === "healthy" && crashes >= MAX_FAILURES;
		},
		isProbeDue: () => (state !== "healthy" || crashes >= MAX_FAILURES) && system.uptimeMs() >= probe_at,
		probed(probe, has_waiting) {
			crashes = 0;
			if (state === "healthy") pause_ms = AWAY_MS;
			if (state === "away") pause_ms = Math.min(AWAY_CAP_MS, pause_ms * 2);
			probe_at = system.uptimeMs() + pause_ms;
			if (probe.outcome === "denied") turn("blocked", probe.message);
			else if (probe.outcome !== "healthy") turn("away", probe.message);
			else if (has_waiting) mayTry = true;
			else turn("healthy", "");
		},
		refusal: () => ({ outcome: state === "blocked" ? "denied" : "unreachable", message }),
	};
}
