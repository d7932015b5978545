import { MASTER_KEY } from "../../row-ledger.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers questions about the keyring, whose rows nothing can authenticate before it is open. */
export function keyReads(db: Snapshot): Async<Implementations<"read">["keys"] & Implementations<"scan">["keys"]> {
	return {
		async fingerprint() {
			return (await db.stored("meta", "name = $1", [MASTER_KEY]))[0]?.value;
		},
		shared: () => db.stored("keyring", "realm_id = ''"),
		ofRealm: (realm_id) => db.stored("keyring", "realm_id = $1", [realm_id]),
		async byId(id) {
			return (await db.stored("keyring", "id = $1", [id]))[0];
		},
		all: () => db.stored("keyring", "true ORDER BY id"),
		async countOfRealms() {
			const active = await db.count("keyring", "realm_id <> '' AND state = 'active'");
			return { active, retired: (await db.count("keyring", "realm_id <> ''")) - active };
		},
	};
}
