import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import type { Revocation, Revoked } from "../../../revocation/model.ts";
import { ofMachinesIn } from "../../shared-sql.ts";
import { END_INVITATIONS } from "./invitations.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { leaseRevoker } from "./leases.ts";

/** Sorts after every time. */
const AFTER_ALL = "~";

/** Limits on what one transaction ends: all other writes wait behind it. A trust may hold 64 KiB of keys. */
const MOST = 1000;
const MOST_TRUSTS = 100;

/** Prepares the removal of some rows that meet a condition. The function returns their number, and whether there may be more. */
function removal(db: Database, table: string, condition: string, most = MOST) {
	const remove = db.prepare(
		`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ${most})`,
	);
	return (values: object): { count: number; more: boolean } => {
		const count = remove.run(values).changes;
		return { count, more: count === most };
	};
}

/** Operation that revokes access. */
export function revocationWrites(db: Database, append: Append) {
	const sessions = db.prepare("DELETE FROM session WHERE user_id = @user_id AND jti <> @keep");
	const endTokens = endingTokens(db);
	const sources = knownSourceWrites(db);
	const links = db.prepare("DELETE FROM sso_identity WHERE user_id = ? AND created_at > ? AND made_account = 0");
	const unlink = (user_id: string, since = AFTER_ALL) => links.run(user_id, since).changes;
	const many = leaseRevoker(db);
	const made = endingMade(db);
	return {
		revoke(input: Revocation, event: AuditEvent): Revoked {
			const { user_id, realm_id, keep, links_since, made_since, now_ms, isFurther } = input;
			// The person to keep out may sign in from a known source.
			if (user_id !== undefined && realm_id === undefined) sources.forget(user_id);
			const leases = { user_id, realm_id, engine: undefined, now_ms };
			const tokens = endTokens({ user_id, realm_id, keep });
			const { realms, more, ...ended } = made(user_id, made_since, isFurther);
			const part = { ...((tokens.more || more) && { more: true as const }) };
			const revoked = {
				sessions: realm_id === undefined ? sessions.run({ user_id, keep }).changes : 0,
				tokens: tokens.count,
				leases: many.revoke(leases, "requested") + many.forewarn(leases, "requested"),
				identities: user_id !== undefined && realm_id === undefined ? unlink(user_id, links_since) : 0,
				...ended,
				...part,
			};
			append(event, revoked);
			for (const { id, slug } of realms) append({ ...event, realm_id: id, realm: slug }, part);
			return revoked;
		},
	};
}

/** Prepares ending API tokens of a user, of a realm and its machines, or of a user in a realm. An account has few. */
function endingTokens(db: Database) {
	const ofUser = db.prepare("DELETE FROM api_token WHERE user_id = @user_id AND id <> @keep");
	const ofBoth = db.prepare("DELETE FROM api_token WHERE user_id = @user_id AND realm_id = @realm_id AND id <> @keep");
	const ofRealm = removal(db, "api_token", "realm_id = @realm_id AND id <> @keep");
	const ofMachines = removal(db, "machine_token", ofMachinesIn("@realm_id"));
	return (whose: Pick<Revocation, "user_id" | "realm_id" | "keep">) => {
		if (whose.user_id !== undefined) {
			const statement = whose.realm_id === undefined ? ofUser : ofBoth;
			return { count: statement.run(whose).changes, more: false };
		}
		const [people, machines] = [ofRealm(whose), ofMachines(whose)];
		return { count: people.count + machines.count, more: people.more || machines.more };
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

/** Prepares ending a part of what a user made: nothing without an instant. @returns counts, whether there is more, and the realms to tell */
function endingMade(db: Database) {
	const isTheirs = "created_by = @user_id AND created_at > @since";
	const machines = `SELECT id FROM machine WHERE ${isTheirs}`;
	const trusts = `(${isTheirs} OR machine_id IN (${machines}))`;
	const tokens = `(${isTheirs} OR machine_id IN (${machines}) OR trust_id IN (SELECT id FROM trust WHERE ${trusts}))`;
	const realms = db.prepare(REALMS_OF_MADE);
	const endTokens = removal(db, "machine_token", tokens);
	const endTrusts = removal(db, "trust", trusts, MOST_TRUSTS);
	const endMachines = removal(db, "machine", isTheirs);
	const invitations = db.prepare(END_INVITATIONS);
	const none = { count: 0, more: true };
	return (user_id: string | undefined, since: string | undefined, isFurther = false) => {
		if (user_id === undefined || since === undefined) return { realms: [], more: false };
		const made = { user_id, since };
		const concerned = isFurther ? [] : (realms.all(made) as { id: string; slug: string }[]);
		// Tokens, then trusts, then machines: a row that goes takes no others with it.
		const machine_tokens = endTokens(made);
		const removed = machine_tokens.more ? none : endTrusts(made);
		const deleted = removed.more ? none : endMachines(made);
		return {
			realms: concerned,
			machine_tokens: machine_tokens.count,
			trusts: removed.count,
			machines: deleted.count,
			invitations: invitations.run(user_id).changes,
			more: deleted.more,
		};
	};
}
