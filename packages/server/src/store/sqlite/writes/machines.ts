import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import { decideMachine, decideMachineToken, type HeldMachineTokens } from "../../../machines/decide.ts";
import type { Machine, MachineToken } from "../../../machines/model.ts";
import { rowAltered } from "../../errors.ts";
import { notExpiredAt, ofMachinesIn } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import { fits } from "../row-guard.ts";
import { LIVE_REALM } from "./live-realm.ts";

const COLUMNS: readonly (keyof Machine)[] = [
	...(["id", "realm_id", "name", "role", "scopes", "environment", "engines"] as const),
	...(["description", "created_by", "created_at"] as const),
];

const TOKEN_COLUMNS: readonly (keyof MachineToken)[] = [
	...(["id", "machine_id", "name", "prefix", "digest", "trust_id"] as const),
	...(["created_by", "created_at", "expires_at", "last_used_at"] as const),
];

/** Makes the statement that inserts a row. */
export const insertInto = (table: string, columns: readonly string[]) =>
	`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map((name) => `@${name}`).join(", ")})`;

/** Counts the rows of a table that name a realm's machines. */
export const countOfMachines = (table: "machine_token" | "trust") =>
	`SELECT count(*) FROM ${table} WHERE ${ofMachinesIn("?")}`;

/** Changes what a machine may do; a row that another program altered stays as it is. */
const CHANGE =
	"UPDATE machine SET role = @role, scopes = @scopes, environment = @environment, engines = @engines, description = @description " +
	`WHERE realm_id = @realm_id AND name = @name AND ${fits("machine")}`;

/** Operations on machines and their tokens. */
export function machineWrites(db: Database, append: Append): Implementations<"write">["machines"] {
	const live = db.prepare(LIVE_REALM).pluck();
	const id = db.prepare("SELECT id FROM machine WHERE realm_id = @realm_id AND name = @name").pluck();
	const count = db.prepare("SELECT count(*) FROM machine WHERE realm_id = ?").pluck();
	const insert = db.prepare(insertInto("machine", COLUMNS));
	const change = db.prepare(CHANGE);
	const removeTokens = db.prepare("DELETE FROM machine_token WHERE machine_id = ?");
	const removeTrusts = db.prepare("DELETE FROM trust WHERE machine_id = ?");
	const remove = db.prepare("DELETE FROM machine WHERE id = ?");
	const revoke = db.prepare("DELETE FROM machine_token WHERE id = @id AND machine_id = @machine_id");
	return {
		set(machine, event) {
			const found = id.get(machine) as string | undefined;
			const decision = decideMachine({
				isRealmLive: live.get(machine.realm_id) !== undefined,
				isThere: found !== undefined,
				count: count.get(machine.realm_id) as number,
			});
			if (decision !== "done") return decision;
			if (found === undefined) insert.run(machine);
			else if (change.run(machine).changes === 0) throw rowAltered();
			append(event, { machine_id: found ?? machine.id });
			return "done";
		},
		remove(named, event) {
			const found = id.get(named);
			if (found === undefined) return false;
			const tokens = removeTokens.run(found).changes;
			const trusts = removeTrusts.run(found).changes;
			remove.run(found);
			append(event, { tokens, ...(trusts > 0 && { trusts }) });
			return true;
		},
		addToken: addingToken(db, append),
		revokeToken(token, event) {
			if (revoke.run(token).changes === 0) return false;
			append(event);
			return true;
		},
	};
}

/** Prepares the function that adds a token. */
export function addingToken(db: Database, append: Append) {
	const machine = db.prepare("SELECT realm_id FROM machine WHERE id = ?").pluck();
	const live = db.prepare(LIVE_REALM).pluck();
	const held = db.prepare(
		`SELECT count(*) FILTER (WHERE ${notExpiredAt("@created_at")} AND (trust_id IS NULL) = (@trust_id IS NULL)) AS live, ` +
			"count(*) FILTER (WHERE expires_at <= @created_at) AS expired FROM machine_token WHERE machine_id = @machine_id",
	);
	const insert = db.prepare(insertInto("machine_token", TOKEN_COLUMNS));
	const prune = db.prepare(
		"DELETE FROM machine_token WHERE id IN (SELECT id FROM machine_token WHERE machine_id = @machine_id AND expires_at <= @created_at " +
			"ORDER BY expires_at LIMIT @forgotten)",
	);
	return (token: MachineToken, event: Parameters<Append>[0]): "done" | "gone" | "limit_reached" => {
		const realm_id = machine.get(token.machine_id);
		if (realm_id === undefined || live.get(realm_id) === undefined) return "gone";
		const decision = decideMachineToken(token.trust_id !== null, held.get(token) as HeldMachineTokens);
		if (decision.outcome !== "done") return decision.outcome;
		insert.run(token);
		prune.run({ ...token, forgotten: decision.forgotten });
		append(event);
		return "done";
	};
}
