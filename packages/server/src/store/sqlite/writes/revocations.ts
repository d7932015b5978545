import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import type { Revocation, Revoked } from "../../../revocation/model.ts";
import { END_INVITATIONS } from "./invitations.ts";
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
	const made = endingMade(db);
	return {
		revoke({ user_id, realm_id, keep, links_since, made_since, now_ms }: Revocation, event: AuditEvent): Revoked {
			const whose = { user_id, realm_id, keep };
			const tokens = user_id === undefined ? tokensOfRealm : realm_id === undefined ? tokensOfUser : tokensOfBoth;
			// The person to keep out may sign in from a known source.
			if (user_id !== undefined && realm_id === undefined) sources.forget(user_id);
			const leases = { user_id, realm_id, engine: undefined, now_ms };
			const { realms, ...ended } = made(user_id, made_since);
			const revoked = {
				sessions: realm_id === undefined ? sessions.run(whose).changes : 0,
				tokens:
					(tokens?.run(whose).changes ?? 0) + (user_id === undefined ? tokensOfMachines.run(realm_id).changes : 0),
				leases: many.revoke(leases, "requested") + many.forewarn(leases, "requested"),
				identities: user_id !== undefined && realm_id === undefined ? unlink(user_id, links_since) : 0,
				...ended,
			};
			append(event, revoked);
			for (const { id, slug } of realms) append({ ...event, realm_id: id, realm: slug });
			return revoked;
		},
	};
}

/** Realms whose logs tell that something which a user made has ended. */
const MAX_TOLD_REALMS = 1000;

/** Selects the realms of machines, of machines' tokens and trusts, and of invitations that a user made since. */
const REALMS_OF_MADE =
	"SELECT id, slug FROM realm WHERE deleted_at IS NULL AND id IN (" +
	"SELECT realm_id FROM machine WHERE created_by = @user_id AND created_at > @since UNION " +
	"SELECT realm_id FROM machine WHERE id IN (SELECT machine_id FROM machine_token WHERE created_by = @user_id AND created_at > @since) UNION " +
	"SELECT realm_id FROM machine WHERE id IN (SELECT machine_id FROM trust WHERE created_by = @user_id AND created_at > @since) UNION " +
	"SELECT realm_id FROM invitation_binding WHERE invitation_id IN (SELECT id FROM invitation WHERE created_by = @user_id)) " +
	`ORDER BY id LIMIT ${MAX_TOLD_REALMS}`;

/** Prepares ending what a user made: nothing without an instant. @returns counts, and the realms concerned */
function endingMade(db: Database) {
	const machines = "SELECT id FROM machine WHERE created_by = @user_id AND created_at > @since";
	const realms = db.prepare(REALMS_OF_MADE);
	const ofMachines = db.prepare(`DELETE FROM machine_token WHERE machine_id IN (${machines})`);
	const tokens = db.prepare("DELETE FROM machine_token WHERE created_by = @user_id AND created_at > @since");
	const trusts = `created_by = @user_id AND created_at > @since OR machine_id IN (${machines})`;
	const given = db.prepare(`DELETE FROM machine_token WHERE trust_id IN (SELECT id FROM trust WHERE ${trusts})`);
	const removeTrusts = db.prepare(`DELETE FROM trust WHERE ${trusts}`);
	const remove = db.prepare("DELETE FROM machine WHERE created_by = @user_id AND created_at > @since");
	const invitations = db.prepare(END_INVITATIONS);
	return (user_id: string | undefined, since: string | undefined) => {
		if (user_id === undefined || since === undefined) return { realms: [] };
		const made = { user_id, since };
		return {
			realms: realms.all(made) as { id: string; slug: string }[],
			machine_tokens: ofMachines.run(made).changes + given.run(made).changes + tokens.run(made).changes,
			trusts: removeTrusts.run(made).changes,
			machines: remove.run(made).changes,
			invitations: invitations.run(user_id).changes,
		};
	};
}
