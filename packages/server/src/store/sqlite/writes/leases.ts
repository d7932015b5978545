import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../../audit/model.ts";
import { type Lease, type LeaseState, type LeaseStore, type NewLease, OPEN_STATES } from "../../../leases/model.ts";
import { refuseMaker } from "../../../policy/decide.ts";
import type { Implementations } from "../../store.ts";
import type { Append } from "./audit.ts";
import { IS_UNUSED } from "./engines.ts";
import { standing } from "./standing.ts";

/** Which leases are revoked at once. */
type Selection = Parameters<LeaseStore["revokeMany"]>[0];

type LeaseWrites = Implementations<"write">["leases"];

/** Leases that are hastened at once. */
const MAX_HASTENED = 100;

/** Leases that are forgotten at once: a day's worth in one transaction would hold up every other write for seconds. */
export const MAX_FORGOTTEN = 1000;

/** Operations on leases. Each names the states it starts from, so that of two that race one changes nothing. */
export function leaseWrites(db: Database, append: Append): LeaseWrites {
	return { ...birth(db, append), ...revocation(db, append), ...end(db, append), ...upkeep(db), ...rest(db, append) };
}

/** What is known of a lease before it exists. */
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

/** What has to hold for a lease to begin. */
function conditions(db: Database) {
	const realm = db.prepare("SELECT 1 FROM realm WHERE id = ? AND deleted_at IS NULL");
	const config = db.prepare("SELECT 1 FROM engine_config WHERE id = ? AND state = 'active'");
	const common = db.prepare("SELECT 1 FROM engine_config WHERE engine = ? AND realm_id = '' AND state = 'active'");
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
				`AND state IN (${OPEN_STATES.map((state) => `'${state}'`).join(", ")})`,
		)
		.pluck();
	return {
		isLive: (realm_id: unknown): boolean => realm.get(realm_id) !== undefined,
		/** Whether the configuration that the caller was let in by is still the one that holds: another may serve other realms. */
		isCurrent: ({ config_id, engine }: NewLease): boolean =>
			config_id === "" ? common.get(engine) === undefined : config.get(config_id) !== undefined,
		isKnown: (lease: NewLease): boolean => name.get(lease) !== undefined,
		countOpen: (lease: NewLease) => open.get(lease) as number,
		countOfRealm: ({ realm_id, engine }: NewLease, most: number) => ofRealm.get({ realm_id, engine, most }) as number,
	};
}

/** From nothing to active. */
function birth(db: Database, append: Append): Pick<LeaseWrites, "begin" | "activate" | "doubt"> {
	const { isLive, isCurrent, isKnown, countOpen, countOfRealm } = conditions(db);
	const standingAt = standing(db);
	const insert = db.prepare(
		`INSERT INTO lease (state, ${GIVEN.join(", ")}) VALUES ('intent', ${GIVEN.map((name) => `@${name}`).join(", ")})`,
	);
	const intent = db.prepare("SELECT realm_id, reason, name FROM lease WHERE id = ? AND state = 'intent'");
	const activateBy = (set: string) =>
		db.prepare(
			"UPDATE lease SET state = @state, reason = @reason, expires_at = @expires_at, payload = @payload, due_at = @due_at" +
				`${set} WHERE id = @id`,
		);
	// Setting a name, even to what it is, would rewrite a page of an index that is nowhere near the others' pages.
	const [activate, activateAs] = [activateBy(""), activateBy(", name = @name")];
	const doubt = db.prepare(
		"UPDATE lease SET state = 'uncertain', reason = 'uncertain', due_at = @due_at, last_error = @last_error WHERE id = @id AND state = 'intent'",
	);
	return {
		begin(lease, limit, event, realm_limit) {
			if (!isLive(lease.realm_id)) return "realm_gone";
			if (limit !== null && countOpen(lease) >= limit) return "limit_reached";
			if (realm_limit !== undefined && countOfRealm(lease, realm_limit) >= realm_limit) return "realm_limit_reached";
			if (isKnown(lease)) return "name_taken";
			if (!isCurrent(lease)) return "config_gone";
			insert.run(lease);
			append(event);
			return "done";
		},
		activate({ made_by, ...input }, event) {
			const found = intent.get(input.id) as Pick<Lease, "realm_id" | "reason" | "name"> | undefined;
			if (found === undefined) return "lost";
			const isRefused = made_by !== undefined && refuseMaker(standingAt(event.timestamp), made_by) !== undefined;
			const given = isRefused ? "requested" : found.reason;
			const reason = isLive(found.realm_id) ? given : "realm_deleted";
			const fate = reason === "" ? { state: "active" } : { state: "revoking", due_at: Date.parse(event.timestamp) };
			const statement = found.name === input.name ? activate : activateAs;
			statement.run({ ...input, reason, ...fate });
			append(event);
			if (reason === "") return "done";
			return reason === "realm_deleted" ? "realm_gone" : "lost";
		},
		doubt: (input) => doubt.run(input).changes > 0,
	};
}

/** From active to revoking, and back to it. */
function revocation(db: Database, append: Append): Pick<LeaseWrites, "revoke" | "revokeMany" | "reopen" | "markLost"> {
	const change = changing(db, append);
	const stateOf = db.prepare("SELECT state FROM lease WHERE id = ?").pluck();
	const revokeBy = (set: string) =>
		change(`UPDATE lease SET state = 'revoking', reason = @reason${set} WHERE id = @id AND state = 'active'`);
	const [revoke, revokeAt] = [revokeBy(""), revokeBy(", due_at = @due_at")];
	const many = leaseRevoker(db);
	return {
		revoke(input, event) {
			const state = stateOf.get(input.id) as LeaseState | undefined;
			// Setting `due_at`, even to what it is, would rewrite two more indexes.
			(input.due_at === undefined ? revoke : revokeAt)(input, event);
			return state;
		},
		revokeMany(selection, event) {
			const count = many(selection);
			append(event, { count });
			return count;
		},
		reopen: change(
			"UPDATE lease SET state = 'revoking', reason = 'zombie', due_at = @due_at, closed_at = NULL, attempts = 0 " +
				"WHERE id = @id AND due_at IS NULL",
		),
		markLost: change(
			"UPDATE lease SET last_error = @last_error WHERE id = @id AND state = 'active' AND last_error <> @last_error",
		),
	};
}

/**
 * Makes what marks the leases of a realm, user or engine, or of what they have in common, and counts them. One that is being made goes to nobody:
 * it is taken back as soon as it exists.
 */
export function leaseRevoker(db: Database) {
	const mark = (set: string, state: LeaseState) => {
		const prepare = (ofRealm: string) =>
			db.prepare(
				`UPDATE lease SET reason = 'requested'${set} WHERE state = '${state}' AND due_at IS NOT NULL ${ofRealm} ` +
					"AND (@user_id IS NULL OR user_id = @user_id) AND (@engine IS NULL OR engine = @engine)",
			);
		const [anywhere, inRealm] = [prepare(""), prepare("AND realm_id = @realm_id")];
		return ({ realm_id, user_id, engine, now_ms }: Selection): number => {
			const statement = realm_id === undefined ? anywhere : inRealm;
			return statement.run({ realm_id, user_id: user_id ?? null, engine: engine ?? null, now_ms }).changes;
		};
	};
	const [active, beingMade] = [mark(", state = 'revoking', due_at = @now_ms", "active"), mark("", "intent")];
	return (selection: Selection): number => active(selection) + beingMade(selection);
}

/** From an open state to a closed one. The last lease of a retired configuration takes that with it, and those after it. */
function end(db: Database, append: Append): Pick<LeaseWrites, "abort" | "settle" | "abandon"> {
	const change = changing(db, append);
	const dropConfigs = db.prepare(
		"DELETE FROM engine_config WHERE (realm_id, engine) = (SELECT config_realm_id, engine FROM lease WHERE id = @id) " +
			`AND ${IS_UNUSED}`,
	);
	const close = (set: string, where: string) => {
		const closed = change(
			`UPDATE lease SET ${set}, due_at = NULL, closed_at = @closed_at, payload = NULL WHERE id = @id AND ${where}`,
		);
		return (input: { id: string; closed_at: string }, event: AuditEvent): boolean => {
			if (!closed(input, event)) return false;
			dropConfigs.run(input);
			return true;
		};
	};
	return {
		abort: close("state = 'aborted'", "state = 'intent'"),
		settle: close(
			"state = iif(state = 'uncertain', 'aborted', 'revoked'), last_error = ''",
			"state IN ('revoking', 'uncertain')",
		),
		abandon: close("state = 'abandoned'", "due_at IS NOT NULL"),
	};
}

/** Makes an operation of a statement that changes one lease: its event is written when it did. */
function changing(db: Database, append: Append) {
	return (sql: string) => {
		const statement = db.prepare(sql);
		return (input: { id: string }, event: AuditEvent): boolean => {
			if (statement.run(input).changes === 0) return false;
			append(event);
			return true;
		};
	};
}

/** What a restore began. */
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

/** What nobody asked for. */
function upkeep(
	db: Database,
): Pick<LeaseWrites, "postpone" | "hasten" | "delivered" | "recover" | "saveClock" | "forget"> {
	const postpone = db.prepare(
		"UPDATE lease SET due_at = @due_at, attempts = @attempts, last_error = @last_error WHERE id = @id AND state IN ('revoking', 'uncertain')",
	);
	const hasten = db.prepare(
		"UPDATE lease SET due_at = @now_ms WHERE rowid IN (SELECT rowid FROM lease WHERE target = @target AND due_at > @now_ms AND due_at <= @until_ms " +
			`AND state IN ('revoking', 'uncertain') AND (state = 'revoking' OR last_error <> @but_for) LIMIT ${MAX_HASTENED})`,
	);
	const delivered = db.prepare(
		"UPDATE lease SET delivered_at = ? WHERE id IN (SELECT value FROM json_each(?)) AND delivered_at IS NULL",
	);
	const recover = db.prepare(
		"UPDATE lease SET state = 'uncertain', reason = 'uncertain', due_at = @due_at, last_error = 'the server ended in the middle of it' " +
			"WHERE state = 'intent' AND due_at IS NOT NULL",
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
		saveClock: (mark) => void saveClock.run(JSON.stringify(mark)),
		forget: (closed_before) => forget.run(closed_before).changes,
	};
}
