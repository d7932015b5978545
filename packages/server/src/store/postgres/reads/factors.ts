import { isConfirmed } from "../../../factors/decide.ts";
import type { Factor } from "../../../factors/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

type FactorReads = Async<Implementations<"read">["factors"] & Implementations<"scan">["factors"]>;

/** Lists the second factors of an account, in the order in which they were made. */
export function factorsOf(db: Snapshot, user_id: string): Promise<Factor[]> {
	return db.verified("factor", "user_id = $1 ORDER BY created_at, id", [user_id]);
}

/** Tells whether an account has a factor that is asked for. */
export async function hasFactor(db: Snapshot, user_id: string): Promise<boolean> {
	return (await factorsOf(db, user_id)).some(isConfirmed);
}

/** Answers questions about second factors. */
export function factorReads(db: Snapshot): FactorReads {
	return {
		async passkeyHosts() {
			const passkeys = await db.verified("factor", "type = 'passkey' ORDER BY rp_id", []);
			return [...new Set(passkeys.map(({ rp_id }) => rp_id ?? ""))];
		},
		async isLacking(jti, user_id) {
			const byPassword = await db.verified("session", "jti = $1 AND provider = ''", [jti]);
			return byPassword.length > 0 && !(await hasFactor(db, user_id));
		},
		ofUser: (user_id) => factorsOf(db, user_id),
		async recoveryCodes(user_id) {
			return (await db.verified("recovery_codes", "user_id = $1", [user_id]))[0];
		},
	};
}
