import { type AuditStore, eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { hasExpired } from "../expiry.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import type { AccountStore, Session } from "./model.ts";
import type { SessionUse } from "./session-uses.ts";

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
	{ store, system, keyring }: OwnSessionNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: (Session & { current: boolean; used: SessionUse | undefined })[]; pagination: Pagination }> {
	const own = requireSession(actor, "list sessions");
	const now = system.now().toISOString();
	const { rows, pagination } = await readPage(keyring.cursorKey(), page, {
		list: `sessions ${actor.user_id}`,
		read: (after = "", limit) => store.accounts.sessions(actor.user_id, now, after, limit),
		position: ({ jti }) => jti,
		count: async () => (await store.accounts.holdings(actor.user_id, now)).sessions,
	});
	const uses = await store.accounts.lastUses(rows.map(({ jti }) => jti));
	const shown = rows.map((session, at) => ({ ...session, current: session.jti === own, used: uses[at] }));
	return { rows: shown, pagination };
}

/**
 * Ends one of the caller's sessions, its own included, with the very next request.
 * @throws AppError unsupported_operation (not a session), not_found (no open session of the caller), unauthorized (the caller's own has ended meanwhile)
 * Design: §7.1
 */
export async function endSession({ store, system }: OwnSessionNeeds, actor: Actor, id: string): Promise<void> {
	requireSession(actor, "end a session");
	const now = system.now();
	const session = await store.accounts.session(id);
	const isOpen = session?.user_id === actor.user_id && !hasExpired(session.expires_at, now.toISOString());
	const event = eventBy(actor, now, "auth.session.ended", undefined, { session_ended: id });
	if (!(isOpen && (await store.accounts.closeSession(id, event))))
		throw new AppError("not_found", "session not found: `svc session list` shows yours");
}
