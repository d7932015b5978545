import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { linkWrites } from "./sso-links.ts";
import { useOnce } from "./sso-once.ts";
import { signIn } from "./sso-sign-in.ts";

/** Makes the operations on providers, and on logins through them. */
export function ssoWrites(db: Change): Async<Implementations<"write">["sso"]> {
	return {
		async setProvider({ replaces, ...row }, event) {
			const { name, id, type, display_name, sealed, created_by, created_at } = row;
			const changes = { id, type, display_name, sealed, created_by, created_at };
			const is = replaces === undefined ? "name = $1" : "name = $1 AND id = $2";
			const replaced = await db.update("sso_provider", changes, is, [
				name,
				...(replaces === undefined ? [] : [replaces]),
			]);
			if (replaced === 0 && replaces !== undefined) return false;
			if (replaced === 0) await db.insert("sso_provider", row);
			db.append(event);
			return true;
		},
		async removeProvider(name, event) {
			if ((await db.remove("sso_provider", "name = $1", [name])) === 0) return false;
			db.append(event);
			return true;
		},
		...linkWrites(db),
		signIn: (login, event) => signIn(db, login, event),
		consume: (used) => useOnce(db, used),
		forgetUsed: (before) =>
			db.remove("sso_used", "digest IN (SELECT digest FROM sso_used WHERE until < $1 LIMIT 1000)", [before]),
	};
}
