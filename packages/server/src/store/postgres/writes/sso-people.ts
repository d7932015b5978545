import type { LinkedAccount, LinkedIdentity } from "../../../sso/decide.ts";
import type { IdentityKey } from "../../../sso/model.ts";
import type { Change } from "../database.ts";

/** Finds the account of an identity. */
export async function ownerOf(db: Change, { provider, issuer, subject }: IdentityKey): Promise<string | undefined> {
	const key = "provider = $1 AND issuer = $2 AND subject = $3";
	return (await db.verified("sso_identity", key, [provider, issuer, subject]))[0]?.user_id;
}

/** Finds an account. */
export async function accountOf(db: Change, user_id: string): Promise<LinkedAccount | undefined> {
	return (await db.verified("account", "id = $1", [user_id]))[0];
}

/** Lists the identities of an account. */
export function identitiesOf(db: Change, user_id: string): Promise<LinkedIdentity[]> {
	return db.verified("sso_identity", "user_id = $1", [user_id]);
}
