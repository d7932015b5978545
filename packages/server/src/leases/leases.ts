import * as v from "valibot";
import { eventBy, type RealmRef } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { atMost, RequiredText } from "../messages.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { type AccessNeeds, authorize, requireInstanceAdmin } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { QuestionNeeds } from "../semaphore.ts";
import type { System } from "../system.ts";
import type { LeaseClock } from "./clock.ts";
import type { Lease, LeaseState, LeaseStore, ListedLease, Removal } from "./model.ts";
import type { Pause } from "./pause.ts";
import type { Reaper } from "./reaper.ts";
import type { Sweeper } from "./sweep.ts";

/** Dependencies of the rules of leases. */
export interface LeaseNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { leases: LeaseStore };
	system: System;
	clock: Pick<LeaseClock, "now">;
	reaper: Pick<Reaper, "revokeNow" | "wake">;
}

interface ListNeeds extends AccessNeeds, QuestionNeeds {
	store: AccessNeeds["store"] & { leases: Pick<LeaseStore, "list" | "count"> };
	keyring: { cursorKey(): Buffer };
}

/** Text that sorts after every id. */
const NEWEST = "~";

/** Selection of leases to list. */
export interface LeaseQuery extends PageRequest {
	engine?: string | undefined;
	state?: LeaseState | undefined;
}

type Page = { rows: ListedLease[]; pagination: Pagination };

/** Lists one page of a realm's leases, newest first. @throws AppError not_found, forbidden, insufficient_scope. Design: §7.1 */
export async function listRealmLeases(needs: ListNeeds, actor: Actor, slug: string, query: LeaseQuery): Promise<Page> {
	const realm = await authorize(needs, actor, slug, { capability: "audit:read" });
	return listPage(needs, actor, realm.id, query);
}

/** Lists one page of all realms' leases, newest first. @throws AppError forbidden, insufficient_scope. Design: §7.1 */
export async function listAllLeases(needs: ListNeeds, actor: Actor, query: LeaseQuery): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	return listPage(needs, actor, "", query);
}

function listPage(needs: ListNeeds, actor: Actor, realm_id: string, query: LeaseQuery): Promise<Page> {
	const { leases } = needs.store;
	const filter = { realm_id, engine: query.engine ?? "", state: query.state ?? "" } as const;
	return readPage(needs.keyring.cursorKey(), query, {
		list: `leases ${JSON.stringify(filter)}`,
		read: (before, limit) => needs.long_questions.run(() => leases.list(filter, before ?? NEWEST, limit), actor),
		position: (lease) => lease.id,
		count: () => needs.long_questions.run(() => leases.count(filter), actor),
	});
}

/** Reads a lease of a realm. @throws AppError not_found, forbidden, insufficient_scope. Design: §7.1 */
export async function getLease(needs: LeaseNeeds, actor: Actor, slug: string, id: string): Promise<ListedLease> {
	const realm = await authorize(needs, actor, slug, { capability: "audit:read" });
	return find(needs, realm, id);
}

async function find(needs: LeaseNeeds, realm: RealmRef, id: string): Promise<ListedLease> {
	const lease = await needs.store.leases.byId(id);
	if (lease === undefined || lease.realm_id !== realm.id) throw leaseNotFound();
	return lease;
}

/**
 * Revokes a lease: its maker and those who manage the realm may.
 * @returns `done` once the credential is verified absent; `queued` when its target is away
 * @throws AppError not_found, forbidden, insufficient_scope
 * Design: §7.1
 */
export async function revokeLease(
	needs: LeaseNeeds,
	actor: Actor,
	slug: string,
	id: string,
): Promise<"done" | "queued"> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", scope: "any" });
	const lease = await find(needs, realm, id);
	if (lease.user_id !== actor.user_id)
		await authorize(needs, actor, slug, { capability: "realms:manage", scope: "delete" });
	const { outcome } = await requestRevoke(needs, actor, realm, lease);
	return outcome === "absent" ? "done" : "queued";
}

/** States in which the credential is gone. */
const CLOSED: readonly LeaseState[] = ["revoked", "aborted"];

/**
 * Records that a credential must be revoked, and revokes it now if its target answers.
 * @returns the result; `absent` also when it was gone before
 * @throws AppError conflict when the lease was abandoned, or its credential is still being made
 */
export async function requestRevoke(
	needs: Pick<LeaseNeeds, "store" | "system" | "clock" | "reaper">,
	actor: Actor,
	realm: RealmRef,
	lease: Lease,
): Promise<Removal> {
	const facts = { lease_id: lease.id, engine: lease.engine, name: lease.name, reason: "requested" };
	const event = eventBy(actor, needs.system.now(), "lease.revoking", realm, facts);
	const change = { id: lease.id, due_at: needs.clock.now(), reason: "requested" } as const;
	const state = await needs.store.leases.revoke(change, event);
	if (state === undefined || CLOSED.includes(state)) return { outcome: "absent" };
	if (state === "abandoned") throw new AppError("conflict", "the lease was abandoned: remove its credential by hand");
	if (state === "intent") throw new AppError("conflict", "the credential is still being made: try again");
	const open = await needs.store.leases.byId(lease.id);
	if (open === undefined || CLOSED.includes(open.state)) return { outcome: "absent" };
	return needs.reaper.revokeNow(open);
}

/**
 * Resumes making and revoking credentials after a restore. @returns false when leases were not paused
 * @throws AppError forbidden, insufficient_scope
 */
export async function resumeLeases(
	needs: LeaseNeeds & { pause: Pause; sweeper: Pick<Sweeper, "wake"> },
	actor: Actor,
): Promise<boolean> {
	await requireInstanceAdmin(needs, actor, "write");
	const wasPaused = await needs.pause.resume(eventBy(actor, needs.system.now(), "lease.resumed", undefined, {}));
	needs.reaper.wake();
	needs.sweeper.wake();
	return wasPaused;
}

/** Selection of leases to revoke: at least one field is set. */
export interface RevokeSelection {
	realm?: string | undefined;
	user_id?: string | undefined;
	engine?: string | undefined;
}

/**
 * Revokes every lease of a realm, a user or an engine, or of their intersection, including those being made. @returns how many
 * @throws AppError forbidden, insufficient_scope, validation_failed, not_found
 * Design: §7.1
 */
export async function revokeLeases(needs: LeaseNeeds, actor: Actor, selection: RevokeSelection): Promise<number> {
	await requireInstanceAdmin(needs, actor, "delete");
	const { realm: slug, user_id, engine } = selection;
	if ([slug, user_id, engine].every((given) => given === undefined)) {
		throw new AppError("validation_failed", "at least one of realm, user_id and engine is needed");
	}
	const realm = slug === undefined ? undefined : await needs.store.realms.access(slug, actor.user_id);
	if (slug !== undefined && realm === undefined) throw new AppError("not_found", "realm not found");
	const event = eventBy(actor, needs.system.now(), "lease.revoking", realm, { user_id, engine, reason: "requested" });
	const now_ms = needs.clock.now();
	const count = await needs.store.leases.revokeMany({ realm_id: realm?.id, user_id, engine, now_ms }, event);
	needs.reaper.wake();
	return count;
}

/** Reason for abandoning a lease. */
export const AbandonLease = v.object({ reason: v.pipe(RequiredText, atMost(1024, "reason")) });

/**
 * Abandons a lease: the server stops working on it at its target, but keeps its name.
 * @throws AppError forbidden, insufficient_scope, not_found, conflict (it is closed)
 * Design: §7.1
 */
export async function abandonLease(needs: LeaseNeeds, actor: Actor, id: string, reason: string): Promise<void> {
	await requireInstanceAdmin(needs, actor, "delete");
	const lease = await needs.store.leases.byId(id);
	if (lease === undefined) throw leaseNotFound();
	const now = needs.system.now();
	const facts = { lease_id: id, engine: lease.engine, name: lease.name, state: lease.state, why: reason };
	const event = eventBy(actor, now, "lease.abandoned", { id: lease.realm_id, slug: lease.realm }, facts);
	if (!(await needs.store.leases.abandon({ id, closed_at: now.toISOString() }, event))) {
		throw new AppError("conflict", "the lease is already closed");
	}
}

function leaseNotFound(): AppError {
	return new AppError("not_found", "lease not found: `svc lease list` shows the realm's leases");
}
