import { type KeyRow, MasterKeyReplaced, masterOf } from "../../../crypto/keyring-model.ts";
import { MASTER_KEY } from "../../row-ledger.ts";
import { ANYTHING } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { LACKS_MASTER } from "../membership.ts";
import { setMeta } from "./meta.ts";
import { renewRows } from "./row-renewal.ts";

const ROW_KEYS = "purpose = 'rows' AND realm_id = '' AND state = 'retired'";

async function storedFingerprint(db: Change): Promise<string | undefined> {
	return (await db.stored("meta", "name = $1", [MASTER_KEY]))[0]?.value;
}

/** Adds a key. @throws MasterKeyReplaced when the server that wrapped it had not learned yet that another one has replaced the master key */
export async function addKey(db: Change, key: KeyRow): Promise<void> {
	const master = masterOf(key);
	if (master !== undefined && master !== (await storedFingerprint(db))) throw new MasterKeyReplaced();
	await db.insert("keyring", key);
}

/** Makes the operations on the keyring. */
export function keyWrites(db: Change): Async<Implementations<"write">["keys"]> {
	const isUnready = async (to: string) =>
		(await db.sql.rows(`SELECT FROM node WHERE ${LACKS_MASTER} LIMIT 1`, [db.claimant() ?? "", to])).length > 0;
	return {
		async initialize(input, event) {
			if ((await db.sql.rows(ANYTHING)).length > 0) return "exists";
			await setMeta(db, MASTER_KEY, input.fingerprint);
			for (const key of input.keys) await db.insert("keyring", key);
			db.append(event);
			return "done";
		},
		async rotate({ key }, event) {
			if (key.purpose === "rows" && (await db.has("keyring", ROW_KEYS))) return "unfinished";
			const active = "purpose = $1 AND realm_id = $2 AND state = 'active'";
			await db.update("keyring", { state: "retired" }, active, [key.purpose, key.realm_id]);
			await addKey(db, key);
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
			if ((await storedFingerprint(db)) !== from || (await db.count("keyring", "true")) !== keys.length)
				return "changed";
			const ids = keys.map(({ id }) => id);
			if ((await db.count("keyring", "id = ANY($1::bytea[])", [ids])) !== keys.length) return "changed";
			if (await isUnready(to)) return "unready";
			for (const { id, wrapped } of keys) await db.update("keyring", { wrapped }, "id = $1", [id]);
			await setMeta(db, MASTER_KEY, to);
			db.append(event, { from, to, keys: keys.length });
			return "done";
		},
	};
}
