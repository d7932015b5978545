import { eventBy, systemEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { namesOf, prefixed } from "../names.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { requireInstanceAdmin, requireScope, requireUnrestricted } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { QuestionNeeds } from "../semaphore.ts";
import { type DeletedRealm, PURGE_AFTER_DAYS, type Realm, type Restorable } from "./model.ts";
import type { RealmNeeds } from "./realms.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** A deleted realm in a list. */
interface ListedDeletion extends Omit<DeletedRealm, "description"> {
	/** Time after which nobody can restore it, ISO 8601 UTC. */
	purge_at: string;
}

function restorableBy(actor: Actor, now: Date): Restorable {
	return { user_id: actor.instance_admin ? undefined : actor.user_id, since: endOfRestoring(now) };
}

/** Returns the latest time of deletion of realms that can no longer be restored. */
function endOfRestoring(now: Date): string {
	return new Date(now.getTime() - PURGE_AFTER_DAYS * DAY_MS).toISOString();
}

/**
 * Reads one page of the deleted realms that the caller may restore: their own; for the instance admin, all.
 * @throws AppError insufficient_scope
 * Design: §15
 */
export async function listDeletedRealms(
	needs: RealmNeeds & QuestionNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: ListedDeletion[]; pagination: Pagination }> {
	await requireScope(needs, actor, "read");
	await requireUnrestricted(needs, actor);
	const which = restorableBy(actor, needs.system.now());
	const { realms } = needs.store;
	const { rows, pagination } = await readPage(needs.keyring.cursorKey(), page, {
		list: `deleted realms ${which.user_id ?? ""}`,
		read: (after, limit) => needs.long_questions.run(() => realms.deleted(which, after ?? "", limit), actor),
		position: (realm) => realm.id,
		count: () => needs.long_questions.run(() => realms.countDeleted(which), actor),
	});
	const names = await namesOf(
		needs,
		rows.flatMap(({ user_id, deleted_by }) => [user_id, deleted_by]),
	);
	const listed = rows.map(({ description: _, ...realm }) => ({
		...realm,
		...prefixed("owner", names.get(realm.user_id)),
		...prefixed("deleted_by", names.get(realm.deleted_by)),
		purge_at: new Date(Date.parse(realm.deleted_at) + PURGE_AFTER_DAYS * DAY_MS).toISOString(),
	}));
	return { rows: listed, pagination };
}

/**
 * Brings a deleted realm back with its bindings and secrets. What was limited to it has ended permanently, and so have its leases.
 * @param wanted the deletion, the newest by default; and another slug
 * @throws AppError not_found, insufficient_scope, conflict (slug taken by a live realm)
 * Design: §15
 */
export async function restoreRealm(
	needs: RealmNeeds,
	actor: Actor,
	slug: string,
	wanted: { id?: string | undefined; slug?: string | undefined },
): Promise<Realm> {
	await requireUnrestricted(needs, actor);
	for (const scope of ["write", "delete"] as const) await requireScope(needs, actor, scope);
	const now = needs.system.now();
	const which = restorableBy(actor, now);
	const found = await needs.store.realms.findDeleted({ ...which, slug, id: wanted.id });
	if (found === undefined) throw notRestorable();
	const { deleted_at, deleted_by: _, ...realm } = found;
	if (realm.user_id !== actor.user_id) await requireInstanceAdmin(needs, actor, "write");
	const restored = { ...realm, slug: wanted.slug ?? slug };
	const facts = { owner: realm.user_id, deleted_at, was: restored.slug === slug ? undefined : slug };
	const event = eventBy(actor, now, "realm.restored", restored, facts);
	await needs.store.realms.endRestricted(realm.id);
	const outcome = await needs.store.realms.restore({ ...restored, since: which.since }, event);
	if (outcome === "not_found") throw notRestorable();
	if (outcome === "slug_taken")
		throw new AppError("conflict", "another realm has this slug: restore this one under a new slug (`--as`)");
	return restored;
}

function notRestorable(): AppError {
	return new AppError("not_found", "deleted realm not found: `svc realm list --deleted` shows those to restore");
}

/** Sorts after every instant. */
const EVER = "9999";

/** Realms to be purged that are read at once. */
const AT_ONCE = 100;

/**
 * Removes realms that were deleted long enough ago, and destroys their keys; and what a stop of the server left of the tokens and trusts of others.
 * @returns the number of realms
 * Design: §5, §7, §13
 */
export async function purgeRealms(needs: Pick<RealmNeeds, "store" | "system" | "keyring">): Promise<number> {
	const now = needs.system.now();
	const deleted_before = endOfRestoring(now);
	const { realms } = needs.store;
	// Most servers have none, and need no thread to look for them.
	const [any] = await realms.deletedBefore(EVER, 1);
	for (const id of any === undefined ? [] : await realms.unended()) await realms.endRestricted(id);
	let purged = 0;
	for (let isMore = true; isMore; ) {
		const due = await needs.store.realms.deletedBefore(deleted_before, AT_ONCE);
		const before = purged;
		for (const { id, slug } of due) {
			const purgeable = { id, deleted_before };
			// A single transaction would delay everybody for a second.
			await needs.store.realms.empty(purgeable);
			if (await needs.store.realms.purge(purgeable, systemEvent(now, "realm.purged", { id, slug }, {}))) purged++;
			needs.keyring.forgetRealm(id);
		}
		isMore = due.length === AT_ONCE && purged > before;
	}
	return purged;
}
