import type { KeyStore } from "../../../crypto/keyring-model.ts";
import { eq, sql } from "../drizzle.ts";
import { keyring, meta } from "../schema.ts";
import type { Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about the keyring. */
export function keyReads(db: Reader): Pick<KeyStore, "fingerprint" | "shared" | "ofRealm" | "byId" | "all"> {
	const fingerprint = db
		.select({ value: meta.value })
		.from(meta)
		.where(eq(meta.name, "master_key_fingerprint"))
		.prepare();
	const ofRealm = db
		.select()
		.from(keyring)
		.where(eq(keyring.realm_id, placeholder("realm_id")))
		.prepare();
	const byId = db
		.select()
		.from(keyring)
		.where(eq(keyring.id, placeholder("id")))
		.prepare();
	const all = db.select().from(keyring).prepare();
	return {
		fingerprint: async () => fingerprint.get()?.value,
		shared: async () => ofRealm.all({ realm_id: "" }),
		ofRealm: async (realm_id) => ofRealm.all({ realm_id }),
		byId: async (id) => byId.get({ id }),
		all: async () => all.all(),
	};
}
