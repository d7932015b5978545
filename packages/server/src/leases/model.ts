import type { AuditEvent } from "../audit/model.ts";
import { type Port, read, scan, write } from "../operation.ts";
import type { Maker } from "../policy/model.ts";

/**
 * States of a lease. Open: `intent` (recorded, perhaps not made yet), `active`, `uncertain` (unknown whether its credential exists),
 * `revoking`. Closed: `revoked`, `aborted` (no credential was ever made), `abandoned` (by a person). Design: §9.
 */
export const LEASE_STATES = ["intent", "active", "uncertain", "revoking", "revoked", "aborted", "abandoned"] as const;

export type LeaseState = (typeof LEASE_STATES)[number];

/** States of an open lease. */
export const OPEN_STATES: readonly LeaseState[] = ["intent", "active", "uncertain", "revoking"];

/** Reason why a credential is revoked. */
export type RevokeReason = "expired" | "requested" | "realm_deleted" | "undelivered" | "uncertain" | "zombie";

/** Effect of a change on the state of a lease. */
export interface Transition {
	/** New state, by the state that it starts from. */
	leads: Partial<Record<LeaseState, LeaseState>>;
	/** Reason for revoking the credential from then on, where it is always the same. */
	reason?: RevokeReason;
}

/** All transitions of a lease: a change that finds the lease in any other state has no effect. Adapters derive from this table. */
export const TRANSITIONS = {
	/** The credential exists. */
	activate: { leads: { intent: "active" } },
	/** The credential exists, and nobody gets it. */
	withhold: { leads: { intent: "revoking" } },
	/** It must be revoked as soon as it exists. */
	forewarn: { leads: { intent: "intent" } },
	/** Nobody knows whether it exists. */
	doubt: { leads: { intent: "uncertain" }, reason: "uncertain" },
	/** Nothing was made. */
	abort: { leads: { intent: "aborted" } },
	/** It must be revoked. */
	revoke: { leads: { active: "revoking" } },
	/** Certainly absent. */
	settle: { leads: { revoking: "revoked", uncertain: "aborted" } },
	/** Removal will be tried again. */
	postpone: { leads: { revoking: "revoking", uncertain: "uncertain" } },
	/** A person abandons it. */
	abandon: { leads: { intent: "abandoned", active: "abandoned", uncertain: "abandoned", revoking: "abandoned" } },
	/** A closed credential is back at its target. */
	reopen: { leads: { revoked: "revoking", aborted: "revoking", abandoned: "revoking" }, reason: "zombie" },
	/** Nobody knows what its row said: it must be revoked, even if it was. */
	distrust: {
		leads: {
			...{ intent: "revoking", active: "revoking", uncertain: "revoking", revoking: "revoking" },
			...{ revoked: "revoking", aborted: "revoking", abandoned: "revoking" },
		},
		reason: "uncertain",
	},
	/** An active credential is not at its target any more. */
	markLost: { leads: { active: "active" } },
} as const satisfies Record<string, Transition>;

/** Identity of a credential at its target. */
interface Credential {
	engine: string;
	/** The system where it exists: a hash of address and kind. */
	target: string;
	/** User or service account; empty for engines that do not say. */
	name: string;
	/** Authentication database or namespace; empty for none. */
	scope: string;
}

/** Record of a credential that may exist at a target, written before it does. */
export interface Lease extends Credential {
	id: string;
	realm_id: string;
	/** Slug of the realm, for the log. */
	realm: string;
	/** The configuration that it was made with; empty when the engine has none. */
	config_id: string;
	/** Realm of that configuration; empty for the one of all realms. */
	config_realm_id: string;
	role: string;
	user_id: string;
	state: LeaseState;
	/** Time of the next action, in milliseconds of the lease clock; null once it is closed. */
	due_at: number | null;
	/** ISO 8601 UTC. */
	expires_at: string;
	attempts: number;
	last_error: string;
	/** Means of keeping the create from landing late; empty when unknown. */
	fence: string;
	/** Empty until the credential must be revoked. */
	reason: RevokeReason | "";
	/** Data that the engine needs to revoke it beyond its name, sealed; null for none. */
	payload: Buffer | null;
	created_at: string;
	/** Time at which the answer was written out; null while unknown. */
	delivered_at: string | null;
	closed_at: string | null;
}

/** A lease as people see it. */
export interface ListedLease extends Lease {
	/** True if another program altered its row: nothing that it says is certain, and its credential is revoked. Design: §13 */
	altered: boolean;
}

/**
 * Result of removing a credential. `absent`: it is verified gone, and no create can still land. `unproven`: it is absent now, but a create
 * already sent may still land: check again later. The others did not get that far.
 */
export type Removal =
	| { outcome: "absent" | "unproven" }
	| {
			/** `unreachable`: the target is away; `denied`: our rights there do not suffice; `rejected`: it refused; `present`: still there, though it said done. */
			outcome: "unreachable" | "denied" | "rejected" | "present";
			/** For people; without secrets. */
			message: string;
			/** The engine itself answered this, whatever it means for the target. */
			is_answer?: true;
			/** The engine ended over this very request, or took too long: the lease may be to blame, so this says nothing about the target. */
			is_engine?: true;
	  };

/** Fields of a lease known before it exists. */
export type NewLease = Omit<
	Lease,
	"state" | "attempts" | "last_error" | "reason" | "payload" | "delivered_at" | "closed_at"
>;

/** Fields of a lease that tell whether it is due. */
export type DueLease = Pick<Lease, "id" | "engine" | "config_id" | "state" | "due_at">;

/** Filter of a list of leases. Empty strings match all. */
export interface LeaseFilter {
	realm_id: string;
	engine: string;
	state: LeaseState | "";
}

/** State of a target. `away`: it does not answer. `blocked`: it answers that our rights do not suffice. */
export type TargetState = "healthy" | "away" | "blocked";

/** Number of open leases, by engine and state. */
interface LeaseCount {
	engine: string;
	state: LeaseState;
	count: number;
}

/** The number of open leases of an engine. */
export interface OpenCount {
	engine: string;
	/** Id of the realm whose configuration or whose leases they are; empty for the configuration of all realms. */
	realm_id: string;
	open: number;
}

/** The lease clock as last saved. Design: §9. */
export interface ClockMark {
	/** Milliseconds of the lease clock, which are Unix milliseconds that never go back. */
	lease_ms: number;
	/** Milliseconds since the machine started, at that time. */
	uptime_ms: number;
	boot_id: string;
}

/** Selection of leases to revoke, and the time of the revocation. */
interface RevokeMany {
	realm_id: string | undefined;
	user_id: string | undefined;
	engine: string | undefined;
	now_ms: number;
}

/** No cached answer depends on a lease. Changes that end a credential, or record that one exists, also work on a low disk. */
const LEDGER = { forgets: [], events: 0 } as const;

/** Operations of the store on leases. Every change names the states that it starts from: the second of two changes has no effect. */
export const leaseOperations = {
	/**
	 * Records the intent if the realm is live, fewer than `limit` leases of the configuration are open, fewer than `realm_limit` of the realm
	 * under the configuration of all realms, nobody ever had the name, and the configuration is current.
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
	 * Records that the credential exists: intent → active, or → revoking when the realm is gone, the lease was revoked meanwhile, or its
	 * maker may no longer have it. `lost` in the last two cases, and when the lease is no longer an intent.
	 */
	activate:
		write<
			(
				input: Pick<Lease, "id" | "name" | "expires_at" | "payload"> & { due_at: number; made_by?: Maker },
				event: AuditEvent,
			) => "done" | "realm_gone" | "lost"
		>(LEDGER),
	/** Records that nobody knows whether it exists: intent → uncertain. */
	doubt: write<(input: { id: string; due_at: number; last_error: string }) => boolean>(LEDGER),
	/** Records that nothing was made: intent → aborted. */
	abort: write<(input: { id: string; closed_at: string }, event: AuditEvent) => boolean>(LEDGER),
	/**
	 * Records that it must be revoked: active → revoking; without `due_at` it keeps the time when it is due.
	 * @returns the state it had, or undefined when there is no such lease
	 */
	revoke:
		write<(input: { id: string; due_at?: number; reason: RevokeReason }, event: AuditEvent) => LeaseState | undefined>(
			LEDGER,
		),
	/** Revokes all of a realm, user or engine: active → revoking; those being made follow once they exist. @returns how many */
	revokeMany: write<(input: RevokeMany, event: AuditEvent) => number>(LEDGER),
	/** Records certain absence: revoking → revoked, uncertain → aborted. */
	settle: write<(input: { id: string; closed_at: string }, event: AuditEvent) => boolean>(LEDGER),
	/** Schedules the next attempt. */
	postpone: write<(input: { id: string; due_at: number; attempts: number; last_error: string }) => void>(LEDGER),
	/** Moves postponed leases due between `now_ms` and `until_ms` to now, except those with the `last_error` `but_for`. @returns how many */
	hasten: write<(input: { target: string; now_ms: number; until_ms: number; but_for: string }) => number>({
		...LEDGER,
		inBatches: true,
	}),
	/** Gives it up at a person's request: any open state → abandoned. */
	abandon: write<(input: { id: string; closed_at: string }, event: AuditEvent) => boolean>(LEDGER),
	/** Records that a closed credential is back at its target: → revoking. */
	reopen: write<(input: { id: string; due_at: number }, event: AuditEvent) => boolean>(LEDGER),
	/** Records that an active credential is not at its target any more. */
	markLost: write<(input: { id: string; last_error: string }, event: AuditEvent) => boolean>(LEDGER),
	/** Records that their answers were written out. */
	delivered: write<(input: { ids: string[]; at: string }) => void>(LEDGER),
	/** Doubts the intents of an earlier server: → uncertain, due immediately. @returns how many */
	recover: write<(input: { due_at: number; last_error: string }) => number>(LEDGER),
	/** Takes every lease whose row another program altered for one that must be revoked immediately. @returns how many */
	distrust: write<(input: { due_at: number }) => number>(LEDGER),
	/** Saves the lease clock. */
	saveClock: write<(mark: ClockMark) => void>(LEDGER),
	/** Ends the pause that a restore began. @returns false when there was none */
	resume: write<(event: AuditEvent) => boolean>(LEDGER),
	/** Deletes leases closed before that time. @returns how many */
	forget: write<(closed_before: string) => number>({ ...LEDGER, inBatches: true }),

	byId: read<(id: string) => ListedLease | undefined>(),
	/** Finds the lease of a credential, open or closed. */
	byCredential: read<(credential: Omit<Credential, "engine">) => Lease | undefined>(),
	/** Finds those of the names that the ledger knows at that target. */
	byNames:
		read<(target: string, scope: string, names: string[]) => Pick<Lease, "id" | "name" | "state" | "reason">[]>(),
	/** Reads active leases at a target in the order in which they end, starting after a given one. */
	activeAt: read<(target: string, after: Pick<Lease, "due_at" | "id"> | undefined, limit: number) => Lease[]>(),
	/** Lists leases, newest first. @param before an id, or a text that sorts after every id */
	list: scan<(filter: LeaseFilter, before: string, limit: number) => ListedLease[]>(),
	count: scan<(filter: LeaseFilter) => number>(),
	/** Counts the open leases under each realm's configuration, and under that of all realms. */
	openByConfig: scan<() => OpenCount[]>(),
	/** Counts the open leases of each realm under the configuration of all realms; at most `limit` counts, the highest first. */
	openByRealm: scan<(limit: number) => OpenCount[]>(),
	/** Lists targets with open leases. */
	openTargets: read<() => string[]>(),
	/** Reads due leases of a target, the longest due first; with `from_ms`, only those that became due then or later. */
	due: read<(target: string, now_ms: number, limit: number, from_ms?: number) => DueLease[]>(),
	/** Finds when the next open lease of any target is due, in milliseconds of the lease clock. */
	nextDue: read<() => number | undefined>(),
	/** Counts the open leases of each engine in each state; a count of none may be left out. */
	counts: read<() => LeaseCount[]>(),
	clock: read<() => ClockMark | undefined>(),
	/** Reads since when leases are paused, ISO 8601 UTC; undefined when they are not. */
	pausedAt: read<() => string | undefined>(),
};

/** The store's part for leases. */
export type LeaseStore = Port<typeof leaseOperations>;

/** A claim of a lease: while it lasts, no other server removes the credential. */
export interface LeaseClaim {
	/** False once it may end before the credential is removed, by either clock of this machine: the server may have been stopped meanwhile. */
	isLive(): boolean;
	release(): Promise<void>;
}

/** Claims of leases among the servers of a store. A lease is settled only by the server that has claimed it. */
export interface LeaseClaims {
	/** True if other servers may use the store, too. */
	isShared: boolean;
	/** Claims a lease for a while; undefined while another server has it. */
	take(lease_id: string): Promise<LeaseClaim | undefined>;
}

/** Claims of a server that has its store for itself. */
export const OWN_CLAIMS: LeaseClaims = {
	isShared: false,
	take: async () => ({ isLive: () => true, release: async () => undefined }),
};
