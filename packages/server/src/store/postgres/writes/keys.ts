import { ANYTHING } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { setMeta } from "./meta.ts";
import { renewRows } from "./row-renewal.ts";

/** Name of the master key's fingerprint in `meta`. */
const FINGERPRINT = "master_key_fingerprint";

const ROW_KEYS = "purpose = 'rows' AND realm_id = '' AND state = 'retired'";

/** Makes the operations on the keyring. */
export function keyWrites(db: Change): Async<Implementations<"write">["keys"]> {
	const fingerprint = async () => (await db.stored("meta", "name = $1", [FINGERPRINT]))[0]?.value;
	return {
		async initialize(input, event) {
			if ((await db.sql.rows(ANYTHING)).length > 0) return "exists";
			await setMeta(db, FINGERPRINT, input.fingerprint);
			for (const key of input.keys) await db.insert("keyring", key);
			db.append(event);
			return "done";
		},
		async rotate({ key }, event) {
			if (key.purpose === "rows" && (await db.has("keyring", ROW_KEYS))) return "unfinished";
			const active = "purpose = $1 AND realm_id = $2 AND state = 'active'";
			await db.update("keyring", { state: "retired" }, active, [key.purpose, key.realm_id]);
			await db.insert("keyring", key);
			db.append(event, { key_id: Buffer.from(key.id).toString("hex") });
			return "done";
		},
		renewRows: (position) => renewRows(db, position),
		async destroyRowKey(id, event) {
			const key_id = Buffer.from(id).toString("hex");
			// Without a ledger nobody can tell.
			if (db.ledger()?.isCounted(key_id) !== false) return "in_use";
			const removed = await db.remove("keyring", "id = $1 AND purpose = 'rows' AND state = 'retired'", [id]);
			if (removed === 1) db.append(event, { key_id });
			return "done";
		},
		async rewrap({ from, to, keys }, event) {
			if ((await fingerprint()) !== from || (await db.count("keyring", "true")) !== keys.length) return "changed";
			const ids = keys.map(({ id }) => id);
			if ((await db.count("keyring", "id = ANY($1::bytea[])", [ids])) !== keys.length) return "changed";
			for (const { id, wrapped } of keys) await db.update("keyring", { wrapped }, "id = $1", [id]);
			await setMeta(db, FINGERPRINT, to);
			db.append(event, { from, to, keys: keys.length });
			return "done";
		},
	};
}
