import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../../audit/model.ts";
import type { Revocation, Revoked } from "../../../revocation/model.ts";
import type { Append } from "./audit.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { leaseRevoker } from "./leases.ts";
import { END_MACHINE_TOKENS } from "./machines.ts";

/** Sorts after every time. */
const AFTER_ALL = "~";

/** Operation that revokes access. */
export function revocationWrites(db: Database, append: Append) {
	const sessions = db.prepare("DELETE FROM session WHERE user_id = @user_id AND jti <> @keep");
	const [tokensOfUser, tokensOfRealm, tokensOfBoth] = [
		"user_id = @user_id",
		"realm_id = @realm_id",
		"user_id = @user_id AND realm_id = @realm_id",
	].map((whose) => db.prepare(`DELETE FROM api_token WHERE ${whose} AND id <> @keep`));
	const tokensOfMachines = db.prepare(END_MACHINE_TOKENS);
	const sources = knownSourceWrites(db);
	const links = db.prepare("DELETE FROM sso_identity WHERE user_id = ? AND created_at > ? AND made_account = 0");
	const unlink = (user_id: string, since = AFTER_ALL) => links.run(user_id, since).changes;
	const many = leaseRevoker(db);
	return {
		revoke({ user_id, realm_id, keep, links_since, now_ms }: Revocation, event: AuditEvent): Revoked {
			const whose = { user_id, realm_id, keep };
			const tokens = user_id === undefined ? tokensOfRealm : realm_id === undefined ? tokensOfUser : tokensOfBoth;
			// The person to keep out may sign in from a known source.
			if (user_id !== undefined && realm_id === undefined) sources.forget(user_id);
			const leases = { user_id, realm_id, engine: undefined, now_ms };
			const revoked = {
				sessions: realm_id === undefined ? sessions.run(whose).changes : 0,
				tokens:
					(tokens?.run(whose).changes ?? 0) + (user_id === undefined ? tokensOfMachines.run(realm_id).changes : 0),
				leases: many.revoke(leases, "requested") + many.forewarn(leases, "requested"),
				identities: user_id !== undefined && realm_id === undefined ? unlink(user_id, links_since) : 0,
			};
			append(event, revoked);
			return revoked;
		},
	};
}
