import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import type { EngineConfigRow } from "../../../engines/model.ts";
import { IS_UNUSED } from "../../shared-sql.ts";
import { LIVE_REALM } from "./live-realm.ts";

/** Operations on engines' configurations. */
export function engineWrites(db: Database, append: Append) {
	const live = db.prepare(LIVE_REALM);
	const retire = db.prepare(
		"UPDATE engine_config SET state = 'retired' WHERE engine = @engine AND realm_id = @realm_id AND state = 'active'",
	);
	const insert =
		"INSERT INTO engine_config (id, engine, realm_id, state, sealed, created_by, created_at, ordinal) " +
		"SELECT @id, @engine, @realm_id, @state, @sealed, @created_by, @created_at, coalesce(max(ordinal), 0) + 1 FROM engine_config";
	const set = db.prepare(insert);
	// SQLite takes ON CONFLICT after a SELECT without WHERE for a join.
	const keep = db.prepare(
		`${insert} WHERE true ON CONFLICT (engine, realm_id, state) WHERE state <> 'retired' DO NOTHING`,
	);
	const dropUnused = db.prepare(
		`DELETE FROM engine_config WHERE engine = @engine AND realm_id = @realm_id AND ${IS_UNUSED}`,
	);
	const forget = db.prepare("DELETE FROM engine_former_realm WHERE engine = ?");
	const cutOff = db.prepare(
		"DELETE FROM engine_former_realm WHERE engine = ? AND realm_id NOT IN (SELECT value FROM json_each(?))",
	);
	return {
		setConfig(
			row: EngineConfigRow,
			event: AuditEvent,
			allowed?: readonly string[],
			keepsFormer = false,
		): "done" | "realm_gone" {
			if (row.realm_id !== "" && live.get(row.realm_id) === undefined) return "realm_gone";
			retire.run(row);
			set.run(row);
			dropUnused.run(row);
			if (row.realm_id === "" && !keepsFormer) forget.run(row.engine);
			if (allowed !== undefined && !allowed.includes("*")) cutOff.run(row.engine, JSON.stringify(allowed));
			append(event);
			return "done";
		},
		removeConfig(input: { engine: string; realm_id: string }, event: AuditEvent, keepsFormer = false): boolean {
			if (retire.run(input).changes === 0) return false;
			dropUnused.run(input);
			if (input.realm_id === "" && !keepsFormer) forget.run(input.engine);
			append(event);
			return true;
		},
		keepGenerated(row: EngineConfigRow, event: AuditEvent): boolean {
			if (keep.run(row).changes === 0) return false;
			append(event);
			return true;
		},
	};
}
