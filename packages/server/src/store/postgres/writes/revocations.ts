import type { Revocation } from "../../../revocation/model.ts";
import type { Implementations } from "../../store.ts";
import type { Change, Late } from "../database.ts";
import { endInvitations } from "./invitations.ts";
import { forewarnLeases, revokeLeases } from "./lease-revocation.ts";

/** Realms whose logs tell that something which a user made has ended. */
const MAX_TOLD_REALMS = 1000;

/** Sorts after every time. */
const AFTER_ALL = "~";

const MADE = "created_by = $1 AND created_at > $2";
const MACHINES = `SELECT id FROM machine WHERE ${MADE}`;
const TRUSTS = `(${MADE} OR machine_id IN (${MACHINES}))`;

/** Selects the realms of machines, of machines' tokens and trusts, and of invitations that a user made since. */
const REALMS_OF_MADE = `SELECT id, slug FROM realm WHERE deleted_at IS NULL AND id IN (
	SELECT realm_id FROM machine WHERE ${MADE} UNION
	SELECT realm_id FROM machine WHERE id IN (SELECT machine_id FROM machine_token WHERE ${MADE}) UNION
	SELECT realm_id FROM machine WHERE id IN (SELECT machine_id FROM trust WHERE ${MADE}) UNION
	SELECT realm_id FROM invitation_binding WHERE invitation_id IN (SELECT id FROM invitation WHERE created_by = $1)
) ORDER BY id LIMIT ${MAX_TOLD_REALMS}`;

/** Makes the operation that revokes access. */
export function revocationWrites(db: Change): Late<Implementations<"write">["revocations"]> {
	return {
		async revoke({ user_id, realm_id, keep, links_since = AFTER_ALL, made_since, now_ms }, event) {
			const selection = { user_id, realm_id, engine: undefined, now_ms };
			const isWhole = user_id !== undefined && realm_id === undefined;
			// The person to keep out may sign in from a known source.
			if (isWhole) await db.remove("known_source", "user_id = $1", [user_id]);
			const { realms, ...ended } = await endMade(db, user_id, made_since);
			const links = "user_id = $1 AND created_at > $2 AND NOT made_account";
			const revoked = {
				sessions:
					realm_id === undefined ? await db.remove("session", "user_id = $1 AND jti <> $2", [user_id, keep]) : 0,
				tokens: await endTokens(db, { user_id, realm_id, keep }),
				leases: (await revokeLeases(db, selection, "requested")) + (await forewarnLeases(db, selection, "requested")),
				identities: isWhole ? await db.remove("sso_identity", links, [user_id, links_since]) : 0,
				...ended,
			};
			db.append(event, revoked);
			for (const { id, slug } of realms) db.append({ ...event, realm_id: id, realm: slug });
			return revoked;
		},
	};
}

/** Ends tokens of a user, of a realm and its machines, or of a user in a realm. @returns how many */
async function endTokens(db: Change, { user_id, realm_id, keep }: Pick<Revocation, "user_id" | "realm_id" | "keep">) {
	const values: unknown[] = [keep];
	const conditions = ["id <> $1"];
	for (const [column, value] of Object.entries({ user_id, realm_id }))
		if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`);
	const tokens = await db.remove("api_token", conditions.join(" AND "), values);
	if (user_id !== undefined) return tokens;
	return (
		tokens +
		(await db.remove("machine_token", "machine_id IN (SELECT id FROM machine WHERE realm_id = $1)", [realm_id]))
	);
}

/** Ends what a user made: nothing without an instant. @returns counts, and the realms concerned */
async function endMade(db: Change, user_id: string | undefined, since: string | undefined) {
	if (user_id === undefined || since === undefined) return { realms: [] };
	const made = [user_id, since];
	const endTokensBy = (condition: string) => db.remove("machine_token", condition, made);
	return {
		realms: await db.sql.rows<{ id: string; slug: string }>(REALMS_OF_MADE, made),
		machine_tokens:
			(await endTokensBy(`machine_id IN (${MACHINES})`)) +
			(await endTokensBy(`trust_id IN (SELECT id FROM trust WHERE ${TRUSTS})`)) +
			(await endTokensBy(MADE)),
		trusts: await db.remove("trust", TRUSTS, made),
		machines: await db.remove("machine", MADE, made),
		invitations: await endInvitations(db, "created_by = $1", [user_id]),
	};
}
