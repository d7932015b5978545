import type { Implementations } from "../../store.ts";
import { eq, sql } from "../drizzle.ts";
import { keyring, meta } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

type Reads = Implementations<"read">["keys"];

const { placeholder } = sql;

/** Questions about the keyring. */
export function keyReads(db: ReadConnection): Reads {
	const fingerprint = lazy(() =>
		db.select({ value: meta.value }).from(meta).where(eq(meta.name, "master_key_fingerprint")).prepare(),
	);
	const ofRealm = lazy(() =>
		db
			.select()
			.from(keyring)
			.where(eq(keyring.realm_id, placeholder("realm_id")))
			.prepare(),
	);
	const byId = lazy(() =>
		db
			.select()
			.from(keyring)
			.where(eq(keyring.id, placeholder("id")))
			.prepare(),
	);
	const all = lazy(() => db.select().from(keyring).prepare());
	return {
		fingerprint: () => fingerprint().get()?.value,
		shared: () => ofRealm().all({ realm_id: "" }),
		ofRealm: (realm_id) => ofRealm().all({ realm_id }),
		byId: (id) => byId().get({ id }),
		all: () => all().all(),
	};
}
