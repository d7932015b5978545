import { type AuditStore, eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { hasExpired } from "../expiry.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { type RefusalNeeds, requireInstanceAdmin, requireSession } from "../policy/authorize.ts";
import type { Actor, SessionUse } from "../policy/model.ts";
import type { System } from "../system.ts";
import { userNotFound } from "./accounts.ts";
import type { AccountStore, Session } from "./model.ts";

/** Dependencies of the rules of one's own sessions. */
export interface OwnSessionNeeds {
	store: {
		accounts: Pick<AccountStore, "session" | "sessions" | "holdings" | "closeSession" | "lastUses">;
		audit: Pick<AuditStore, "append">;
	};
	system: Pick<System, "now">;
	keyring: { cursorKey(): Buffer };
}

/** Reads one page of the caller's open sessions. @throws AppError unsupported_operation (not a session). Design: §7.1 */
export async function listSessions(
	needs: OwnSessionNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: (UsedSession & { current: boolean })[]; pagination: Pagination }> {
	const own = requireSession(actor, "list sessions");
	const { rows, pagination } = await sessionsOf(needs, actor.user_id, page);
	return { rows: rows.map((session) => ({ ...session, current: session.jti === own })), pagination };
}

/** A session with its last use, where that is known. */
export type UsedSession = Session & { used: SessionUse | undefined };

async function sessionsOf(
	{ store, system, keyring }: OwnSessionNeeds,
	user_id: string,
	page: PageRequest,
): Promise<{ rows: UsedSession[]; pagination: Pagination }> {
	const now = system.now().toISOString();
	const { rows, pagination } = await readPage(keyring.cursorKey(), page, {
		list: `sessions ${user_id}`,
		read: (after = "", limit) => store.accounts.sessions(user_id, now, after, limit),
		position: ({ jti }) => jti,
		count: async () => (await store.accounts.holdings(user_id, now)).sessions,
	});
	const uses = await store.accounts.lastUses(rows.map(({ jti }) => jti));
	return { rows: rows.map((session, at) => ({ ...session, used: uses[at] })), pagination };
}

/** Dependencies of looking at the sessions of others. */
export interface SessionNeedsOfAdmins extends OwnSessionNeeds {
	store: OwnSessionNeeds["store"] & RefusalNeeds["store"] & { accounts: Pick<AccountStore, "byId"> };
}

/** Reads one page of somebody's open sessions. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function listSessionsOf(
	needs: SessionNeedsOfAdmins,
	actor: Actor,
	user_id: string,
	page: PageRequest,
): Promise<{ rows: UsedSession[]; pagination: Pagination }> {
	await requireInstanceAdmin(needs, actor, "read");
	if ((await needs.store.accounts.byId(user_id)) === undefined) throw userNotFound();
	return sessionsOf(needs, user_id, page);
}

/**
 * Ends one of the caller's sessions, its own included, with the very next request.
 * @throws AppError unsupported_operation (not a session), not_found (no open session of the caller), unauthorized (the caller's own has ended meanwhile)
 * Design: §7.1
 */
export async function endSession(needs: OwnSessionNeeds, actor: Actor, id: string): Promise<void> {
	requireSession(actor, "end a session");
	if (!(await endOpen(needs, actor, actor.user_id, id)))
		throw new AppError("not_found", "session not found: `svc session list` shows yours");
}

const noSessionOf = () =>
	new AppError("not_found", "session not found: `svc session list --user USER` shows those of an account");

/** Finds one of somebody's open sessions. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function sessionOf(
	needs: SessionNeedsOfAdmins,
	actor: Actor,
	user_id: string,
	id: string,
): Promise<Session> {
	await requireInstanceAdmin(needs, actor, "read");
	const session = await openSession(needs, user_id, id);
	if (session === undefined) throw noSessionOf();
	return session;
}

/** Ends one of somebody's sessions, with the very next request. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function endSessionOf(
	needs: SessionNeedsOfAdmins,
	actor: Actor,
	user_id: string,
	id: string,
): Promise<void> {
	await requireInstanceAdmin(needs, actor, "delete");
	if (!(await endOpen(needs, actor, user_id, id, { user_id }))) throw noSessionOf();
}

async function openSession(
	{ store, system }: OwnSessionNeeds,
	user_id: string,
	id: string,
): Promise<Session | undefined> {
	const session = await store.accounts.session(id);
	const isOpen = session?.user_id === user_id && !hasExpired(session.expires_at, system.now().toISOString());
	return isOpen ? session : undefined;
}

/** Ends an open session of an account. @returns false when there is none */
async function endOpen(
	needs: OwnSessionNeeds,
	actor: Actor,
	user_id: string,
	id: string,
	facts: { user_id?: string } = {},
): Promise<boolean> {
	if ((await openSession(needs, user_id, id)) === undefined) return false;
	const ended = { session_ended: id, ...facts };
	return needs.store.accounts.closeSession(
		id,
		eventBy(actor, needs.system.now(), "auth.session.ended", undefined, ended),
	);
}
