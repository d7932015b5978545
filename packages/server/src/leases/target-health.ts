import type { Log } from "../log.ts";
import type { System } from "../system.ts";
import type { Removal, TargetState } from "./model.ts";

/** What asking a target whether it is well came to. `healthy` also stands for one that cannot be asked: a removal shows it then. */
export interface Probe {
	outcome: "healthy" | "unreachable" | "denied" | "rejected";
	/** For people; without secrets. */
	message: string;
}

/**
 * What is known of a target, and how many removals it gets. While it is not well, leases wait and only a probe is sent now and then; after
 * a probe that went well one lease is tried, and when that comes off too, all are. Design: §9
 */
export interface TargetHealth {
	readonly state: TargetState;
	/** Since when, ISO 8601 UTC. */
	readonly since: string;
	/** Why it is not healthy, for people; else empty. */
	readonly message: string;
	/** Whether one more removal may start beside those under way. */
	hasRoom(under_way: number): boolean;
	/** A removal starts. */
	begin(): void;
	/** A removal ended. */
	end(removal: Removal): void;
	/** Whether it is probed only because its engine ended over several removals. */
	readonly isSuspected: boolean;
	isProbeDue(): boolean;
	/** A probe ended. @param has_waiting whether there are leases to be tried */
	probed(probe: Probe, has_waiting: boolean): void;
	/** The answer for a removal that may not start now. */
	refusal(): Removal;
}

/** Removals of one target in a row that it did not answer, until it is taken to be away; and over which its engine ended, until it is probed. */
const MAX_FAILURES = 5;

/** Milliseconds between probes: of a target that is away doubling up to the cap, of one that is blocked always the same. */
const AWAY_MS = 1000;
const AWAY_CAP_MS = 5000;
const BLOCKED_MS = 60_000;

/** What a target's health needs. */
export interface HealthNeeds {
	system: Pick<System, "now" | "uptimeMs">;
	log: Log;
	/** Removals that a healthy target gets at once. */
	width: number;
}

/** Makes the health of a target that nothing is known of: it is taken for healthy. */
export function createTargetHealth(needs: HealthNeeds, target: string): TargetHealth {
	const { system } = needs;
	let [state, since, message]: [TargetState, string, string] = ["healthy", system.now().toISOString(), ""];
	let [failures, crashes] = [0, 0];
	// Whether one lease may be tried after a probe that went well, and whether it is under way.
	let [mayTry, isTrying] = [false, false];
	let [pause_ms, probe_at] = [0, 0];

	function turn(to: TargetState, why: string): void {
		message = why;
		if (state === to) return;
		[state, since] = [to, system.now().toISOString()];
		failures = crashes = 0;
		isTrying = false;
		// Perhaps only the one lease is refused: another one shows it.
		mayTry = to === "blocked";
		pause_ms = to === "blocked" ? BLOCKED_MS : AWAY_MS;
		probe_at = system.uptimeMs() + pause_ms;
		if (to === "healthy") needs.log("info", "lease.target.healthy", { message: target });
		else needs.log("error", `lease.target.${to}`, { message: `${target}: ${why}` });
	}

	/** While the target answers probes it was the lease: others need not wait for it. */
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
