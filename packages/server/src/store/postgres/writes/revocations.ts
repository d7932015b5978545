import type { Revocation } from "../../../revocation/model.ts";
import { ofMachinesIn } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { endInvitations } from "./invitations.ts";
import { forewarnLeases, revokeLeases } from "./lease-revocation.ts";

/** Realms whose logs tell that something which a user made has ended. */
const MAX_TOLD_REALMS = 1000;

/** Limits on what one transaction ends: all other changes wait behind it. A trust may hold 64 KiB of keys. */
const MOST = 1000;
const MOST_TRUSTS = 100;

/** Sorts after every time. */
const AFTER_ALL = "~";

const MADE = "created_by = $1 AND created_at > $2";
const MACHINES = `SELECT id FROM machine WHERE ${MADE}`;
const TRUSTS = `(${MADE} OR machine_id IN (${MACHINES}))`;
const TOKENS = `(${MADE} OR machine_id IN (${MACHINES}) OR trust_id IN (SELECT id FROM trust WHERE ${TRUSTS}))`;

/** Selects the realms of machines, of machines' tokens and trusts, and of invitations that a user made since. */
const REALMS_OF_MADE = `SELECT id, slug FROM realm WHERE deleted_at IS NULL AND id IN (
	SELECT realm_id FROM machine WHERE ${MADE} UNION
	SELECT realm_id FROM machine WHERE id IN (SELECT machine_id FROM machine_token WHERE ${MADE}) UNION
	SELECT realm_id FROM machine WHERE id IN (SELECT machine_id FROM trust WHERE ${MADE}) UNION
	SELECT realm_id FROM invitation_binding WHERE invitation_id IN (SELECT id FROM invitation WHERE created_by = $1)
) ORDER BY id LIMIT ${MAX_TOLD_REALMS}`;

/** Makes the operation that revokes access. */
export function revocationWrites(db: Change): Async<Implementations<"write">["revocations"]> {
	return {
		async revoke({ user_id, realm_id, keep, links_since = AFTER_ALL, made_since, now_ms, isFurther }, event) {
			const selection = { user_id, realm_id, engine: undefined, now_ms };
			const isWhole = user_id !== undefined && realm_id === undefined;
			// The person to keep out may sign in from a known source.
			if (isWhole) await db.remove("known_source", "user_id = $1", [user_id]);
			const tokens = await endTokens(db, { user_id, realm_id, keep });
			const { realms, more, ...ended } = await endMade(db, user_id, made_since, isFurther);
			const part = { ...((tokens.more || more) && { more: true as const }) };
			const links = "user_id = $1 AND created_at > $2 AND NOT made_account";
			const revoked = {
				sessions:
					realm_id === undefined ? await db.remove("session", "user_id = $1 AND jti <> $2", [user_id, keep]) : 0,
				tokens: tokens.count,
				leases: (await revokeLeases(db, selection, "requested")) + (await forewarnLeases(db, selection, "requested")),
				identities: isWhole ? await db.remove("sso_identity", links, [user_id, links_since]) : 0,
				...ended,
				...part,
			};
			db.append(event, revoked);
			for (const { id, slug } of realms) db.append({ ...event, realm_id: id, realm: slug }, part);
			return revoked;
		},
	};
}

/** Removes some rows that meet a condition. @returns their number, and whether there may be more */
async function removeSome(
	db: Change,
	table: "api_token" | "machine_token" | "trust" | "machine",
	condition: string,
	values: readonly unknown[],
	most = MOST,
): Promise<{ count: number; more: boolean }> {
	const some = `id IN (SELECT id FROM ${table} WHERE ${condition} LIMIT ${most})`;
	const count = await db.remove(table, some, values);
	return { count, more: count === most };
}

/** Ends API tokens of a user, of a realm and its machines, or of a user in a realm. An account has few. */
async function endTokens(db: Change, { user_id, realm_id, keep }: Pick<Revocation, "user_id" | "realm_id" | "keep">) {
	if (user_id !== undefined) {
		const where = "id <> $1 AND user_id = $2 AND ($3::text IS NULL OR realm_id = $3)";
		return { count: await db.remove("api_token", where, [keep, user_id, realm_id ?? null]), more: false };
	}
	const people = await removeSome(db, "api_token", "id <> $1 AND realm_id = $2", [keep, realm_id]);
	const ofMachines = ofMachinesIn("$1");
	const machines = await removeSome(db, "machine_token", ofMachines, [realm_id]);
	return { count: people.count + machines.count, more: people.more || machines.more };
}

/** Ends a part of what a user made: nothing without an instant. @returns counts, whether there is more, and the realms to tell */
async function endMade(db: Change, user_id: string | undefined, since: string | undefined, isFurther = false) {
	if (user_id === undefined || since === undefined) return { realms: [], more: false };
	const made = [user_id, since];
	const realms = isFurther ? [] : await db.sql.rows<{ id: string; slug: string }>(REALMS_OF_MADE, made);
	const none = { count: 0, more: true };
	// Tokens, then trusts, then machines: no row goes before those that name it.
	const machine_tokens = await removeSome(db, "machine_token", TOKENS, made);
	const trusts = machine_tokens.more ? none : await removeSome(db, "trust", TRUSTS, made, MOST_TRUSTS);
	const machines = trusts.more ? none : await removeSome(db, "machine", MADE, made);
	return {
		realms,
		machine_tokens: machine_tokens.count,
		trusts: trusts.count,
		machines: machines.count,
		invitations: await endInvitations(db, "created_by = $1", [user_id]),
		more: machines.more,
	};
}
