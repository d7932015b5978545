import { eventBy, systemEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { Environment } from "../messages.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { authorize, requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { type AccountSemaphore, createAccountSemaphore } from "../semaphore.ts";
import { type DeletedSecret, RESTORABLE_DAYS } from "./model.ts";
import { secretNotFound } from "./refusals.ts";
import type { BulkNeeds, SecretName, SecretNeeds, SecretWritten } from "./secrets.ts";

/** Dependencies of changes that move a secret's whole history. */
export interface RewriteNeeds extends SecretNeeds {
	rewrites: Pick<AccountSemaphore, "run">;
}

/** Creates the semaphore of such changes: one may copy 5 MiB inside the writer, for a request of a hundred bytes, and everybody waits for it. Design: §13 */
export function createRewrites(): AccountSemaphore {
	return createAccountSemaphore({
		name: "rewrites_waiting_per_account",
		what: "deletions, restores and rollbacks of secrets",
		each: 1,
		all: 1,
		waiting: 64,
		hint: "one account deletes, restores or rolls back many secrets at once: let it send one request after another",
	});
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the instant after which a deletion can be undone. */
function restorableSince(now: Date): string {
	return new Date(now.getTime() - RESTORABLE_DAYS * DAY_MS).toISOString();
}

function purgeAt(deleted_at: string): string {
	return new Date(Date.parse(deleted_at) + RESTORABLE_DAYS * DAY_MS).toISOString();
}

/**
 * Deletes a secret with its history, which can be restored for 30 days.
 * @throws AppError not_found, forbidden, insufficient_scope, rate_limited
 * Spec: API › Secrets and encryption. Design: §15
 */
export async function deleteSecret(needs: RewriteNeeds, actor: Actor, name: SecretName): Promise<void> {
	const { environment, key } = name;
	const realm = await authorize(needs, actor, name.slug, { capability: "secrets:delete", environment });
	const now = needs.system.now();
	const event = eventBy(actor, now, "secret.delete", realm, { key, environment });
	const deleted = { id: needs.system.uuid(), deleted_by: actor.user_id, deleted_at: now.toISOString() };
	const input = { ...deleted, realm_id: realm.id, environment, key };
	if (!(await needs.rewrites.run(() => needs.store.secrets.remove(input, event), actor))) throw secretNotFound();
}

/**
 * Permanently removes a secret with its history, and everything deleted under its key in that environment.
 * @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation (not a session), rate_limited
 * Design: §15
 */
export async function purgeSecret(needs: RewriteNeeds, actor: Actor, name: SecretName): Promise<void> {
	const { environment, key } = name;
	const realm = await authorize(needs, actor, name.slug, { capability: "secrets:delete", environment });
	requireSession(actor, "permanently remove a secret");
	const now = needs.system.now();
	const event = eventBy(actor, now, "secret.purge", realm, { key, environment });
	const input = { realm_id: realm.id, environment, key, by: now.toISOString() };
	const purge = (only_deleted: boolean) =>
		needs.rewrites.run(() => needs.store.secrets.purge({ ...input, only_deleted }, event), actor);
	let purged = await purge(false);
	if (purged === 0) throw secretNotFound();
	while (purged > 0) purged = await purge(true);
}

/** Permanently removes secrets that were deleted too long ago to be restored. @returns how many. Design: §15 */
export function purgeDeletedSecrets({ store, system }: Pick<SecretNeeds, "store" | "system">): Promise<number> {
	const now = system.now();
	return store.secrets.purgeDeleted(restorableSince(now), systemEvent(now, "secret.purge", undefined, {}));
}

/**
 * Brings a deleted secret back with its history, numbered from the key's next version on.
 * @param id of the deletion; the newest by default
 * @throws AppError not_found, forbidden, insufficient_scope, conflict (the key was written again), rate_limited
 * Design: §15
 */
export async function restoreSecret(
	needs: RewriteNeeds,
	actor: Actor,
	{ slug, environment, key }: SecretName,
	id: string | undefined,
): Promise<SecretWritten> {
	await authorize(needs, actor, slug, { capability: "secrets:write", environment });
	const realm = await authorize(needs, actor, slug, { capability: "secrets:delete", environment });
	const now = needs.system.now();
	const event = eventBy(actor, now, "secret.restore", realm, { key, environment });
	const input = { realm_id: realm.id, environment, key, id, since: restorableSince(now) };
	const restored = await needs.rewrites.run(() => needs.store.secrets.restore(input, event), actor);
	if (restored === "not_found") throw notRestorable();
	if (restored === "lives") throw keyLives();
	return { key, environment, ...restored };
}

/** A deleted secret in a list. */
interface ListedDeletion extends Omit<DeletedSecret, "realm_id"> {
	/** Time after which nobody can restore it, ISO 8601 UTC. */
	purge_at: string;
}

/**
 * Reads one page of the secrets that can be restored, of one environment or all, without values.
 * @throws AppError not_found, forbidden, insufficient_scope
 * Design: §15
 */
export async function listDeletedSecrets(
	needs: Pick<BulkNeeds, "whole_reads"> & SecretNeeds,
	actor: Actor,
	slug: string,
	asked: Environment | undefined,
	page: PageRequest,
): Promise<{ rows: ListedDeletion[]; pagination: Pagination }> {
	const environment = asked ?? (actor.environment as Environment | null) ?? undefined;
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", environment });
	const now = needs.system.now();
	const since = restorableSince(now);
	const inTurn = <T>(read: () => Promise<T>) => needs.whole_reads.run(read, actor);
	const { rows, pagination } = await readPage(needs.keyring.cursorKey(), page, {
		list: `deleted secrets ${realm.id} ${environment ?? ""}`,
		read: (after, limit) =>
			inTurn(async () => needs.store.secrets.deleted(realm.id, environment, since, after ?? "", limit)),
		position: (row) => row.id,
		count: () => inTurn(async () => needs.store.secrets.countDeleted(realm.id, environment, since)),
	});
	const facts = { environment: environment ?? "", count: rows.length, values: false, deleted: true };
	await needs.store.audit.append(eventBy(actor, now, "secret.list", realm, facts));
	const listed = rows.map(({ realm_id: _, ...row }) => ({ ...row, purge_at: purgeAt(row.deleted_at) }));
	return { rows: listed, pagination };
}

function notRestorable(): AppError {
	return new AppError("not_found", "deleted secret not found: `svc secret list --deleted` shows those to restore");
}

function keyLives(): AppError {
	return new AppError(
		"conflict",
		"the key has a secret, restored or written again: delete it first to restore another one",
	);
}
