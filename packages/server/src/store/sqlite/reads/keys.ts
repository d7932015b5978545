import type { Implementations } from "../../store.ts";
import { count, eq, ne, sql } from "../drizzle.ts";
import { keyring, meta } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

type Reads = Implementations<"read">["keys"];

const { placeholder } = sql;

/** Questions about the keyring. */
export function keyReads(db: Reader): Reads {
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
		fingerprint: () => fingerprint().get()?.value,
		shared: () => ofRealm().all({ realm_id: "" }),
		ofRealm: (realm_id) => ofRealm().all({ realm_id }),
		byId: (id) => byId().get({ id }),
		all: () => all().all(),
		countOfRealms() {
			const { active = 0, total = 0 } = ofRealms().get() ?? {};
			return { active, retired: total - active };
		},
	};
}
