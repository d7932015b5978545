import type { Database } from "better-sqlite3";
import { MAX_MADE_SHOWN, type Made } from "../../revocation/model.ts";
import type { Implementations } from "../store.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

const theirs = (table: string) => `${table}.created_by = @user_id AND ${table}.created_at > @since`;
const newest = (table: string) => `ORDER BY ${table}.created_at DESC LIMIT ${MAX_MADE_SHOWN}`;
const LIVE = "JOIN realm ON realm.id = machine.realm_id AND realm.deleted_at IS NULL";

/** Ids of the rows to show, chosen as the rows are: they may be tens of thousands, and verifying each would take a second. */
const CHOSEN = {
	machines: `SELECT machine.id FROM machine ${LIVE} WHERE ${theirs("machine")} ${newest("machine")}`,
	machine_tokens: `SELECT machine_token.id FROM machine_token JOIN machine ON machine.id = machine_id ${LIVE}
		WHERE ${theirs("machine_token")} AND expires_at > @now ${newest("machine_token")}`,
	// Those that the user added, and all of machines that the user made.
	trusts: `SELECT id FROM (
		SELECT * FROM (SELECT trust.id, trust.created_at FROM trust JOIN machine ON machine.id = machine_id ${LIVE} WHERE ${theirs("trust")} ${newest("trust")})
		UNION SELECT trust.id, trust.created_at FROM machine JOIN trust ON machine_id = machine.id ${LIVE} WHERE ${theirs("machine")}
	) AS one ${newest("one")}`,
	invitations: `SELECT id FROM invitation WHERE created_by = @user_id AND expires_at > @now ORDER BY id DESC LIMIT ${MAX_MADE_SHOWN}`,
};

const PLACED = `JOIN ${verified("machine")} m ON m.id = made.machine_id JOIN ${verified("realm")} r ON r.id = m.realm_id`;
const PLACE = "slug || '/' || m.name AS machine";

const shown = (columns: string, from: string, chosen: string, age = "made.created_at") =>
	`SELECT ${columns} FROM ${from} WHERE made.id IN (${chosen}) ORDER BY ${age} DESC`;

const SHOWN = {
	machines: shown(
		"slug AS realm, made.name, role, made.created_at",
		`${verified("machine")} made JOIN ${verified("realm")} r ON r.id = made.realm_id`,
		CHOSEN.machines,
	),
	machine_tokens: shown(
		`made.id, ${PLACE}, prefix, made.created_at, expires_at`,
		`${verified("machine_token")} made ${PLACED}`,
		CHOSEN.machine_tokens,
	),
	trusts: shown(
		`made.id, ${PLACE}, made.name, type, made.created_at`,
		`${verified("trust")} made ${PLACED}`,
		CHOSEN.trusts,
	),
	invitations: shown(
		"id, email, created_at, expires_at",
		`${verified("invitation")} made`,
		CHOSEN.invitations,
		"made.id",
	),
};

/** Questions about what a revocation can end. They run in the reader thread. */
export function madeByUser(db: Database): Implementations<"scan">["revocations"] {
	const prepare = createStatements(db);
	return {
		made(user_id, since, now) {
			const ask = <Kind extends keyof Made>(kind: Kind, given: object) =>
				prepare(SHOWN[kind]).all({ user_id, ...given }) as Made[Kind];
			return {
				machines: ask("machines", { since }),
				machine_tokens: ask("machine_tokens", { since, now }),
				trusts: ask("trusts", { since }),
				invitations: ask("invitations", { now }),
			};
		},
	};
}
