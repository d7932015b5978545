import type { ListedKeyStore } from "../../../keys/model.ts";
import { count, eq, ne, sql } from "../drizzle.ts";
import { keyring, meta } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about the keyring. */
export function keyReads(
	db: Reader,
): Pick<ListedKeyStore, "fingerprint" | "shared" | "ofRealm" | "byId" | "all" | "countOfRealms"> {
	const fingerprint = later(() =>
		db.select({ value: meta.value }).from(meta).where(eq(meta.name, "master_key_fingerprint")).prepare(),
	);
	const ofRealm = later(() =>
		db
			.select()
			.from(keyring)
			.where(eq(keyring.realm_id, placeholder("realm_id")))
			.prepare(),
	);
	const byId = later(() =>
		db
			.select()
			.from(keyring)
			.where(eq(keyring.id, placeholder("id")))
			.prepare(),
	);
	const all = later(() => db.select().from(keyring).prepare());
	const ofRealms = later(() =>
		db
			.select({ active: sql<number>`count(*) FILTER (WHERE state = 'active')`, total: count() })
			.from(keyring)
			.where(ne(keyring.realm_id, ""))
			.prepare(),
	);
	return {
		fingerprint: async () => fingerprint().get()?.value,
		shared: async () => ofRealm().all({ realm_id: "" }),
		ofRealm: async (realm_id) => ofRealm().all({ realm_id }),
		byId: async (id) => byId().get({ id }),
		all: async () => all().all(),
		async countOfRealms() {
			const { active = 0, total = 0 } = ofRealms().get() ?? {};
			return { active, retired: total - active };
		},
	};
}
