import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import type { KeyRow } from "../../../crypto/keyring-model.ts";
import { MASTER_KEY } from "../../row-ledger.ts";
import { ANYTHING } from "../../shared-sql.ts";
import { createRenewal } from "./row-renewal.ts";

/** Adds a row of keyring. */
export const INSERT_KEY =
	"INSERT INTO keyring (id, purpose, realm_id, state, wrapped, created_at) VALUES (@id, @purpose, @realm_id, @state, @wrapped, @created_at)";

/** Operations on the keyring. */
export function keyWrites(db: Database, append: Append) {
	const fingerprint = db.prepare("SELECT value FROM meta WHERE name = ?").pluck();
	const setFingerprint = db.prepare(
		"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
	);
	const insert = db.prepare(INSERT_KEY);
	const retire = db.prepare(
		"UPDATE keyring SET state = 'retired' WHERE purpose = @purpose AND realm_id = @realm_id AND state = 'active'",
	);
	const wrap = db.prepare("UPDATE keyring SET wrapped = @wrapped WHERE id = @id");
	const total = db.prepare("SELECT count(*) FROM keyring").pluck();
	const anything = db.prepare(ANYTHING).pluck();
	const known = db.prepare("SELECT 1 FROM keyring WHERE id = ?").pluck();
	const replaced = db.prepare("SELECT 1 FROM keyring WHERE purpose = 'rows' AND realm_id = '' AND state = 'retired'");
	const destroy = db.prepare("DELETE FROM keyring WHERE id = ? AND purpose = 'rows' AND state = 'retired'");
	const renewal = createRenewal(db);
	return {
		initialize(input: { fingerprint: string; keys: KeyRow[] }, event: AuditEvent): "done" | "exists" {
			if (anything.get() !== undefined) return "exists";
			setFingerprint.run(MASTER_KEY, input.fingerprint);
			for (const key of input.keys) insert.run(key);
			append(event);
			return "done";
		},
		rotate(input: { key: KeyRow }, event: AuditEvent): "done" | "unfinished" {
			if (input.key.purpose === "rows" && replaced.get() !== undefined) return "unfinished";
			retire.run(input.key);
			insert.run(input.key);
			append(event, { key_id: Buffer.from(input.key.id).toString("hex") });
			return "done";
		},
		renewRows: (position: string): string => renewal.renew(position),
		destroyRowKey(id: Buffer, event: AuditEvent): "done" | "in_use" {
			const key_id = Buffer.from(id).toString("hex");
			if (renewal.isCounted(key_id)) return "in_use";
			if (destroy.run(id).changes === 1) append(event, { key_id });
			return "done";
		},
		rewrap(
			input: { from: string; to: string; keys: { id: Buffer; wrapped: Buffer }[] },
			event: AuditEvent,
		): "done" | "changed" {
			if (fingerprint.get(MASTER_KEY) !== input.from || total.get() !== input.keys.length) return "changed";
			if (!input.keys.every((key) => known.get(key.id) !== undefined)) return "changed";
			for (const key of input.keys) wrap.run(key);
			setFingerprint.run(MASTER_KEY, input.to);
			append(event, { from: input.from, to: input.to, keys: input.keys.length });
			return "done";
		},
	};
}
