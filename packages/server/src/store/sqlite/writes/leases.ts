import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { type BeginningFacts, decideActivation, decideBeginning, type LeaseLimits } from "../../../leases/decide.ts";
import {
	type Lease,
	type LeaseState,
	type LeaseStore,
	type NewLease,
	OPEN_STATES,
	type RevokeReason,
	TRANSITIONS,
	type Transition,
} from "../../../leases/model.ts";
import { refuseMaker } from "../../../policy/decide.ts";
import { from, isIn, to } from "../../lease-states.ts";
import { IS_UNUSED } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import { fits, verified } from "../row-guard.ts";
import { accessRows, currentAccess } from "./current-access.ts";
import { LIVE_REALM } from "./live-realm.ts";

/** Selects the leases to revoke together. */
type Selection = Parameters<LeaseStore["revokeMany"]>[0];

type LeaseWrites = Implementations<"write">["leases"];

/** Maximum number of leases hastened in one operation. */
const MAX_HASTENED = 100;

/** Maximum number of leases forgotten in one transaction: a day's worth would hold up every other write for seconds. */
export const MAX_FORGOTTEN = 1000;

/** Operations on leases. Each names the states it starts from, so that one of two racing operations changes nothing. */
export function leaseWrites(db: Database, append: Append): LeaseWrites {
	return {
		...beginning(db, append),
		...revocation(db, append),
		...end(db, append),
		...upkeep(db),
		...rest(db, append),
	};
}

/** Columns of a lease that are known before it exists. */
const GIVEN = [
	...[
		"id",
		"engine",
		"target",
		"name",
		"scope",
		"realm_id",
		"realm",
		"config_id",
		"config_realm_id",
		"role",
		"user_id",
	],
	...["due_at", "expires_at", "fence", "created_at"],
];

/** Prepares the facts that decide whether a lease may begin. */
function beginningFacts(db: Database) {
	const realm = db.prepare(LIVE_REALM);
	const config = db.prepare(`SELECT 1 FROM ${verified("engine_config")} WHERE id = ? AND state = 'active'`);
	const common = db.prepare(
		`SELECT 1 FROM ${verified("engine_config")} WHERE engine = ? AND realm_id = '' AND state = 'active'`,
	);
	const name = db.prepare(
		"SELECT 1 FROM lease WHERE target = @target AND scope = @scope AND name = @name AND name <> ''",
	);
	const ofRealm = db
		.prepare(
			"SELECT count(*) FROM (SELECT 1 FROM lease WHERE realm_id = @realm_id AND engine = @engine AND due_at IS NOT NULL " +
				"AND config_realm_id = '' LIMIT @most)",
		)
		.pluck();
	const open = db
		.prepare(
			"SELECT coalesce(sum(count), 0) FROM lease_count WHERE engine = @engine AND config_realm_id = @config_realm_id " +
				`AND ${isIn(OPEN_STATES)}`,
		)
		.pluck();
	return (lease: NewLease, { limit, realm_limit }: LeaseLimits): BeginningFacts => {
		const { realm_id, engine, config_id } = lease;
		return {
			isRealmLive: realm.get(realm_id) !== undefined,
			isConfigCurrent: config_id === "" ? common.get(engine) === undefined : config.get(config_id) !== undefined,
			isNameTaken: name.get(lease) !== undefined,
			open: limit === null ? 0 : (open.get(lease) as number),
			openOfRealm: realm_limit === undefined ? 0 : (ofRealm.get({ realm_id, engine, most: realm_limit }) as number),
		};
	};
}

/** Operations that lead from nothing to active. */
function beginning(db: Database, append: Append): Pick<LeaseWrites, "begin" | "activate" | "doubt"> {
	const factsOf = beginningFacts(db);
	const realm = db.prepare(LIVE_REALM);
	const access = accessRows(db);
	const insert = db.prepare(
		`INSERT INTO lease (state, ${GIVEN.join(", ")}) VALUES ('intent', ${GIVEN.map((name) => `@${name}`).join(", ")})`,
	);
	const intent = db.prepare(`SELECT realm_id, reason, name FROM lease WHERE id = ? AND ${from(TRANSITIONS.activate)}`);
	const activateBy = (set: string) =>
		db.prepare(
			"UPDATE lease SET state = @state, reason = @reason, expires_at = @expires_at, payload = @payload, due_at = @due_at" +
				`${set} WHERE id = @id`,
		);
	// Setting a name, even an unchanged one, would rewrite a page of an index that is far from the other pages.
	const [activate, activateAs] = [activateBy(""), activateBy(", name = @name")];
	const doubt = db.prepare(
		`UPDATE lease SET ${to(TRANSITIONS.doubt)}, due_at = @due_at, last_error = @last_error WHERE id = @id AND ${from(TRANSITIONS.doubt)}`,
	);
	return {
		begin(lease, limit, event, realm_limit) {
			const limits = { limit, realm_limit };
			const decision = decideBeginning(factsOf(lease, limits), limits);
			if (decision !== "done") return decision;
			insert.run(lease);
			append(event);
			return "done";
		},
		activate({ made_by, ...input }, event) {
			const found = intent.get(input.id) as Pick<Lease, "realm_id" | "reason" | "name"> | undefined;
			if (found === undefined) return "lost";
			const { answer, state, reason } = decideActivation({
				reason: found.reason,
				isRealmLive: realm.get(found.realm_id) !== undefined,
				isMakerAdmitted:
					made_by === undefined || refuseMaker(currentAccess(access, event.timestamp), made_by) === undefined,
			});
			const statement = found.name === input.name ? activate : activateAs;
			const due_at = state === "active" ? input.due_at : Date.parse(event.timestamp);
			statement.run({ ...input, state, reason, due_at });
			append(event);
			return answer;
		},
		doubt: (input) => doubt.run(input).changes > 0,
	};
}

/** Operations that lead from active to revoking, or back to revoking. */
function revocation(db: Database, append: Append): Pick<LeaseWrites, "revoke" | "revokeMany" | "reopen" | "markLost"> {
	const change = changing(db, append);
	const stateOf = db.prepare("SELECT state FROM lease WHERE id = ?").pluck();
	const revokeBy = (set: string) => change(TRANSITIONS.revoke, `reason = @reason${set}`);
	const [revoke, revokeAt] = [revokeBy(""), revokeBy(", due_at = @due_at")];
	const many = leaseRevoker(db);
	return {
		revoke(input, event) {
			const state = stateOf.get(input.id) as LeaseState | undefined;
			// Setting `due_at`, even an unchanged one, would rewrite two more indexes.
			(input.due_at === undefined ? revoke : revokeAt)(input, event);
			return state;
		},
		revokeMany(selection, event) {
			const count = many.revoke(selection, "requested") + many.forewarn(selection, "requested");
			append(event, { count });
			return count;
		},
		reopen: change(TRANSITIONS.reopen, "due_at = @due_at, closed_at = NULL, attempts = 0"),
		markLost: change(TRANSITIONS.markLost, "last_error = @last_error", " AND last_error <> @last_error"),
	};
}

/**
 * Makes the functions that mark the leases of a realm, user or engine, or of their intersection, and return how many: `revoke` the active ones,
 * `forewarn` those that are being made, which are revoked as soon as they exist.
 */
export function leaseRevoker(db: Database) {
	const mark = (transition: Transition, set: string) => {
		const prepare = (ofRealm: string) =>
			db.prepare(
				`UPDATE lease SET ${to(transition)}, reason = @reason${set} WHERE ${from(transition)} AND due_at IS NOT NULL ${ofRealm} ` +
					"AND (@user_id IS NULL OR user_id = @user_id) AND (@engine IS NULL OR engine = @engine)",
			);
		const [anywhere, inRealm] = [prepare(""), prepare("AND realm_id = @realm_id")];
		return ({ realm_id, user_id, engine, now_ms }: Selection, reason: RevokeReason): number => {
			const statement = realm_id === undefined ? anywhere : inRealm;
			return statement.run({ realm_id, user_id: user_id ?? null, engine: engine ?? null, now_ms, reason }).changes;
		};
	};
	return { revoke: mark(TRANSITIONS.revoke, ", due_at = @now_ms"), forewarn: mark(TRANSITIONS.forewarn, "") };
}

/** Operations that lead from an open state to a closed one. Closing a retired configuration's last lease removes that configuration and later ones. */
function end(db: Database, append: Append): Pick<LeaseWrites, "abort" | "settle" | "abandon"> {
	const change = changing(db, append);
	const dropConfigs = db.prepare(
		"DELETE FROM engine_config WHERE (realm_id, engine) = (SELECT config_realm_id, engine FROM lease WHERE id = @id) " +
			`AND ${IS_UNUSED}`,
	);
	const close = (transition: Transition, set = "") => {
		const closed = change(transition, `due_at = NULL, closed_at = @closed_at, payload = NULL${set}`);
		return (input: { id: string; closed_at: string }, event: AuditEvent): boolean => {
			if (!closed(input, event)) return false;
			dropConfigs.run(input);
			return true;
		};
	};
	return {
		abort: close(TRANSITIONS.abort),
		settle: close(TRANSITIONS.settle, ", last_error = ''"),
		abandon: close(TRANSITIONS.abandon),
	};
}

/** Makes an operation from a transition of one lease and its other columns. It writes its event only when something changed. */
function changing(db: Database, append: Append) {
	return (transition: Transition, set: string, where = "") => {
		const statement = db.prepare(
			`UPDATE lease SET ${to(transition)}, ${set} WHERE id = @id AND ${from(transition)}${where}`,
		);
		return (input: { id: string }, event: AuditEvent): boolean => {
			if (statement.run(input).changes === 0) return false;
			append(event);
			return true;
		};
	};
}

/** Operation that ends the pause after a restore. */
function rest(db: Database, append: Append): Pick<LeaseWrites, "resume"> {
	const resume = db.prepare("DELETE FROM meta WHERE name = 'leases_paused'");
	return {
		resume(event) {
			const wasPaused = resume.run().changes > 0;
			if (wasPaused) append(event);
			return wasPaused;
		},
	};
}

/** Operations that the server runs by itself. */
function upkeep(
	db: Database,
): Pick<LeaseWrites, "postpone" | "hasten" | "delivered" | "recover" | "distrust" | "saveClock" | "forget"> {
	const postpone = db.prepare(
		`UPDATE lease SET due_at = @due_at, attempts = @attempts, last_error = @last_error WHERE id = @id AND ${from(TRANSITIONS.postpone)}`,
	);
	const hasten = db.prepare(
		"UPDATE lease SET due_at = @now_ms WHERE rowid IN (SELECT rowid FROM lease WHERE target = @target AND due_at > @now_ms AND due_at <= @until_ms " +
			`AND ${from(TRANSITIONS.postpone)} AND (state = 'revoking' OR last_error <> @but_for) LIMIT ${MAX_HASTENED})`,
	);
	const delivered = db.prepare(
		"UPDATE lease SET delivered_at = ? WHERE id IN (SELECT value FROM json_each(?)) AND delivered_at IS NULL",
	);
	const recover = db.prepare(
		`UPDATE lease SET ${to(TRANSITIONS.doubt)}, due_at = @due_at, last_error = @last_error ` +
			`WHERE ${from(TRANSITIONS.doubt)} AND due_at IS NOT NULL`,
	);
	const distrust = db.prepare(
		`UPDATE lease SET ${to(TRANSITIONS.distrust)}, due_at = @due_at, closed_at = NULL, attempts = 0 WHERE NOT ${fits("lease")}`,
	);
	const saveClock = db.prepare(
		"INSERT INTO meta (name, value) VALUES ('lease_clock', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
	);
	const forget = db.prepare(
		`DELETE FROM lease WHERE rowid IN (SELECT rowid FROM lease WHERE closed_at < ? LIMIT ${MAX_FORGOTTEN})`,
	);
	return {
		postpone: (input) => void postpone.run(input),
		hasten: (input) => hasten.run(input).changes,
		delivered: ({ ids, at }) => void delivered.run(at, JSON.stringify(ids)),
		recover: (input) => recover.run(input).changes,
		distrust: (input) => distrust.run(input).changes,
		saveClock: (mark) => void saveClock.run(JSON.stringify(mark)),
		forget: (closed_before) => forget.run(closed_before).changes,
	};
}
