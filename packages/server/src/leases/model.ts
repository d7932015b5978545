import type { AuditEvent } from "../audit/model.ts";
import { type Port, read, scan, write } from "../operation.ts";
import type { Maker } from "../policy/model.ts";

/**
 * Where a lease is in its life. Open: `intent` (written down, perhaps not made yet), `active`, `uncertain` (it is not known whether it
 * exists), `revoking`. Closed: `revoked`, `aborted` (never came to life), `abandoned` (given up by a person). Design: §9.
 */
export const LEASE_STATES = ["intent", "active", "uncertain", "revoking", "revoked", "aborted", "abandoned"] as const;

export type LeaseState = (typeof LEASE_STATES)[number];

/** States of a lease that is not over. */
export const OPEN_STATES: readonly LeaseState[] = ["intent", "active", "uncertain", "revoking"];

/** Why a credential is taken back. */
export type RevokeReason = "expired" | "requested" | "realm_deleted" | "undelivered" | "uncertain" | "zombie";

/** What a change does to the state of a lease. */
export interface Transition {
	/** Where it leads, from each state that it starts from. */
	leads: Partial<Record<LeaseState, LeaseState>>;
	/** Why the credential is to be taken back from then on, where that is always the same. */
	reason?: RevokeReason;
}

/** Every way of a lease through its life: a change that finds it in another state than these changes nothing. Adapters derive from it. */
export const TRANSITIONS = {
	/** The credential exists. */
	activate: { leads: { intent: "active" } },
	/** The credential exists, and goes to nobody. */
	withhold: { leads: { intent: "revoking" } },
	/** It is to be taken back as soon as it exists. */
	forewarn: { leads: { intent: "intent" } },
	/** It is not known whether it exists. */
	doubt: { leads: { intent: "uncertain" }, reason: "uncertain" },
	/** Nothing was made. */
	abort: { leads: { intent: "aborted" } },
	/** It is to be taken back. */
	revoke: { leads: { active: "revoking" } },
	/** Absent for certain. */
	settle: { leads: { revoking: "revoked", uncertain: "aborted" } },
	/** To be tried again. */
	postpone: { leads: { revoking: "revoking", uncertain: "uncertain" } },
	/** A person gives it up. */
	abandon: { leads: { intent: "abandoned", active: "abandoned", uncertain: "abandoned", revoking: "abandoned" } },
	/** A closed credential is back at its target. */
	reopen: { leads: { revoked: "revoking", aborted: "revoking", abandoned: "revoking" }, reason: "zombie" },
	/** An active credential is not at its target any more. */
	markLost: { leads: { active: "active" } },
} as const satisfies Record<string, Transition>;

/** What identifies a credential at its target. */
interface Credential {
	engine: string;
	/** The system that it lives in: a hash of address and kind. */
	target: string;
	/** User or service account; empty for engines that do not say. */
	name: string;
	/** Authentication database, namespace, or empty. */
	scope: string;
}

/** A credential that may exist at a target, written down before it does. */
export interface Lease extends Credential {
	id: string;
	realm_id: string;
	/** Slug of the realm, for the log. */
	realm: string;
	/** The configuration it was made with; empty when the engine has none. */
	config_id: string;
	/** Whose configuration that is: empty for the one of all realms. */
	config_realm_id: string;
	role: string;
	user_id: string;
	state: LeaseState;
	/** Next action, in milliseconds of the lease clock; null once it is closed. */
	due_at: number | null;
	/** ISO 8601 UTC. */
	expires_at: string;
	attempts: number;
	last_error: string;
	/** How the create can be kept from landing late; empty when that is not known. */
	fence: string;
	/** Empty until the credential is to be taken back. */
	reason: RevokeReason | "";
	/** What the engine needs to revoke it beyond its name, sealed; null when nothing. */
	payload: Buffer | null;
	created_at: string;
	/** When the answer was written out; null while that is not known. */
	delivered_at: string | null;
	closed_at: string | null;
}

/**
 * What came of removing a credential. `absent`: it is gone, verified, and no create can still land. `unproven`: it is absent now, but a
 * create that was sent may still land: look again later. The others did not get that far.
 */
export type Removal =
	| { outcome: "absent" | "unproven" }
	| {
			/** `unreachable`: the target is away; `denied`: our rights there do not suffice; `rejected`: it refused; `present`: it said done, and it is still there. */
			outcome: "unreachable" | "denied" | "rejected" | "present";
			/** For people; without secrets. */
			message: string;
			/** The engine said this in answer, whatever it means of the target. */
			is_answer?: true;
			/** The engine ended over this very request, or took too long: that may be the lease's doing, and says nothing of the target. */
			is_engine?: true;
	  };

/** What is known of a lease before it exists. */
export type NewLease = Omit<
	Lease,
	"state" | "attempts" | "last_error" | "reason" | "payload" | "delivered_at" | "closed_at"
>;

/** What is read of a lease to see whether it is its turn. */
export type DueLease = Pick<Lease, "id" | "engine" | "config_id" | "state" | "due_at">;

/** Which leases are listed. Empty strings select nothing in particular. */
export interface LeaseFilter {
	realm_id: string;
	engine: string;
	state: LeaseState | "";
}

/** Whether a target answers. `away`: it does not. `blocked`: it answers that our rights do not suffice. */
export type TargetState = "healthy" | "away" | "blocked";

/** How many open leases there are, by engine and state. */
interface LeaseCount {
	engine: string;
	state: LeaseState;
	count: number;
}

/** The lease clock as it was last written down. Design: §9. */
export interface ClockMark {
	/** Milliseconds of the lease clock, which are Unix milliseconds that never go back. */
	lease_ms: number;
	/** Milliseconds since the machine started, then. */
	uptime_ms: number;
	boot_id: string;
}

/** Who asked for many leases to be revoked, and which. */
interface RevokeMany {
	realm_id: string | undefined;
	user_id: string | undefined;
	engine: string | undefined;
	now_ms: number;
}

/** Nothing that is remembered depends on a lease. A change that ends a credential, or says that one exists, is made on a low disk, too. */
const LEDGER = { forgets: [], events: 0 } as const;

/** Operations of the store on leases. Every change names the states that it starts from: whoever comes second changes nothing. */
export const leaseOperations = {
	/**
	 * Writes the intent, when the realm is live, fewer than `limit` leases of the configuration are open, and fewer than `realm_limit` of the realm
	 * under that of all realms, nobody ever had the name, and the configuration holds.
	 */
	begin: write<
		(
			lease: NewLease,
			limit: number | null,
			event: AuditEvent,
			realm_limit?: number,
		) => "done" | "limit_reached" | "realm_limit_reached" | "name_taken" | "realm_gone" | "config_gone"
	>({ ...LEDGER, events: 2 }),
	/**
	 * The credential exists: intent → active; → revoking when the realm is gone by now, when it was revoked while it was made, or when
	 * its maker may not have it any more. `lost` when one of the latter, and when it is no intent any more.
	 */
	activate:
		write<
			(
				input: Pick<Lease, "id" | "name" | "expires_at" | "payload"> & { due_at: number; made_by?: Maker },
				event: AuditEvent,
			) => "done" | "realm_gone" | "lost"
		>(LEDGER),
	/** It is not known whether it exists: intent → uncertain. */
	doubt: write<(input: { id: string; due_at: number; last_error: string }) => boolean>(LEDGER),
	/** Nothing was made: intent → aborted. */
	abort: write<(input: { id: string; closed_at: string }, event: AuditEvent) => boolean>(LEDGER),
	/**
	 * It is to be taken back: active → revoking; without `due_at` it stays due when it was.
	 * @returns the state it had, or undefined when there is no such lease
	 */
	revoke:
		write<(input: { id: string; due_at?: number; reason: RevokeReason }, event: AuditEvent) => LeaseState | undefined>(
			LEDGER,
		),
	/** active → revoking for all of a realm, user or engine; those that are being made follow once they exist. @returns how many */
	revokeMany: write<(input: RevokeMany, event: AuditEvent) => number>(LEDGER),
	/** Absent for certain: revoking → revoked, uncertain → aborted. */
	settle: write<(input: { id: string; closed_at: string }, event: AuditEvent) => boolean>(LEDGER),
	/** To be tried again. */
	postpone: write<(input: { id: string; due_at: number; attempts: number; last_error: string }) => void>(LEDGER),
	/** What is due at a target after `now_ms` and until `until_ms` because it was put off, but for one reason: due now. @returns how many */
	hasten: write<(input: { target: string; now_ms: number; until_ms: number; but_for: string }) => number>({
		...LEDGER,
		inParts: true,
	}),
	/** A person gives it up: any open state → abandoned. */
	abandon: write<(input: { id: string; closed_at: string }, event: AuditEvent) => boolean>(LEDGER),
	/** A closed credential is back at its target: → revoking. */
	reopen: write<(input: { id: string; due_at: number }, event: AuditEvent) => boolean>(LEDGER),
	/** An active credential is not at its target any more. */
	markLost: write<(input: { id: string; last_error: string }, event: AuditEvent) => boolean>(LEDGER),
	/** Their answers were written out. */
	delivered: write<(input: { ids: string[]; at: string }) => void>(LEDGER),
	/** Intents of a server that is gone: → uncertain, due at once. @returns how many */
	recover: write<(input: { due_at: number; last_error: string }) => number>(LEDGER),
	/** Writes the lease clock down. */
	saveClock: write<(mark: ClockMark) => void>(LEDGER),
	/** Ends the rest that a restore began. @returns false when there was none */
	resume: write<(event: AuditEvent) => boolean>(LEDGER),
	/** Removes what was closed before the instant. @returns how many */
	forget: write<(closed_before: string) => number>({ ...LEDGER, inParts: true }),

	byId: read<(id: string) => Lease | undefined>(),
	/** Open or closed. */
	byCredential: read<(credential: Omit<Credential, "engine">) => Lease | undefined>(),
	/** Those of the names that the ledger knows at that target. */
	byNames:
		read<(target: string, scope: string, names: string[]) => Pick<Lease, "id" | "name" | "state" | "reason">[]>(),
	/** Active leases at a target in the order in which they end, after that one. */
	activeAt: read<(target: string, after: Pick<Lease, "due_at" | "id"> | undefined, limit: number) => Lease[]>(),
	/** Newest first. @param before an id, or a text behind every id */
	list: scan<(filter: LeaseFilter, before: string, limit: number) => Lease[]>(),
	count: scan<(filter: LeaseFilter) => number>(),
	/** Targets with open leases. */
	openTargets: read<() => string[]>(),
	/** Open leases of a target that are due, and were not before `from_ms` when that is given, the longest due first. */
	due: read<(target: string, now_ms: number, limit: number, from_ms?: number) => DueLease[]>(),
	/** When the next open lease of any target is due, in milliseconds of the lease clock. */
	nextDue: read<() => number | undefined>(),
	counts: read<() => LeaseCount[]>(),
	clock: read<() => ClockMark | undefined>(),
	/** Since when leases rest, ISO 8601 UTC; undefined when they do not. */
	pausedAt: read<() => string | undefined>(),
};

/** The store's part for leases. */
export type LeaseStore = Port<typeof leaseOperations>;
