import type { OneTime } from "../../../sso/model.ts";
import type { Change } from "../database.ts";

/** Uses up a one-time value; false when it was used before. */
export async function useOnce(db: Change, used: OneTime): Promise<boolean> {
	if (await db.has("sso_used", "digest = $1", [used.digest])) return false;
	await db.insert("sso_used", used);
	return true;
}
