import type { Database } from "better-sqlite3";
import { limitsText } from "../../../machines/decide.ts";
import type { CurrentAccess } from "../../../policy/decide.ts";
import type { Maker, Role } from "../../../policy/model.ts";
import { verified } from "../row-guard.ts";
import { LIVE_REALM } from "./live-realm.ts";

/** Account or machine of a session or token, and the time when that ends, ISO 8601 UTC; `~` when it has no end. */
interface Holder {
	holder: string;
	ends: string;
}

type Limited = Parameters<typeof limitsText>[0] & { realm_id: string };

/** Reads of the rows that say what a maker may do, by their ids. Each is undefined when there is no such row. */
export interface AccessRows {
	session(jti: string): Holder | undefined;
	token(id: string): Holder | undefined;
	machineToken(id: string): Holder | undefined;
	machine(id: string): Limited | undefined;
	/** Tells whether an account that is not disabled is the instance's admin, as 0 or 1. */
	instanceAdmin(user_id: string): number | undefined;
	/** Finds the owner of a realm that is not deleted. */
	owner(realm_id: string): string | undefined;
	boundRole(realm_id: string, user_id: string): Role | undefined;
	machineRole(realm_id: string, id: string): Role | undefined;
}

const ENDS = "coalesce(expires_at, '~') AS ends";

/** Prepares the reads. SQLite would prepare joins again whenever a parameter is bound. */
export function accessRows(db: Database): AccessRows {
	const row = (columns: string, table: Parameters<typeof verified>[0], condition: string) =>
		db.prepare(`SELECT ${columns} FROM ${verified(table)} WHERE ${condition}`);
	const session = row(`user_id AS holder, ${ENDS}`, "session", "jti = ?");
	const token = row(`user_id AS holder, ${ENDS}`, "api_token", "id = ?");
	const machineToken = row(`machine_id AS holder, ${ENDS}`, "machine_token", "id = ?");
	const machine = row("realm_id, scopes, environment, engines", "machine", "id = ?");
	const admin = row("instance_admin", "account", "id = ? AND disabled_at IS NULL").pluck();
	const owner = db.prepare(LIVE_REALM).pluck();
	const bound = row("role", "binding", "realm_id = ? AND user_id = ?").pluck();
	const machineRole = row("role", "machine", "realm_id = ? AND id = ?").pluck();
	return {
		session: (jti) => session.get(jti) as Holder | undefined,
		token: (id) => token.get(id) as Holder | undefined,
		machineToken: (id) => machineToken.get(id) as Holder | undefined,
		machine: (id) => machine.get(id) as Limited | undefined,
		instanceAdmin: (user_id) => admin.get(user_id) as number | undefined,
		owner: (realm_id) => owner.get(realm_id) as string | undefined,
		boundRole: (realm_id, user_id) => bound.get(realm_id, user_id) as Role | undefined,
		machineRole: (realm_id, id) => machineRole.get(realm_id, id) as Role | undefined,
	};
}

/**
 * Finds what makers may do at a time, ISO 8601 UTC: a session may have ended, or a role been revoked, while a body arrived slowly, a password was computed,
 * or a directory asked.
 */
export function currentAccess(rows: AccessRows, at: string): CurrentAccess {
	const isHeld = (found: Holder | undefined, { user_id }: Maker) => found?.holder === user_id && found.ends > at;
	return {
		account(maker) {
			const { user_id, jti = "", token_id } = maker;
			if (maker.machine !== undefined) {
				const found = isHeld(rows.machineToken(token_id ?? ""), maker) ? rows.machine(user_id) : undefined;
				if (found === undefined || rows.owner(found.realm_id) === undefined) return undefined;
				return { instance_admin: false, limits: limitsText(found) };
			}
			const holder = token_id === undefined ? rows.session(jti) : rows.token(token_id);
			const isAdmin = isHeld(holder, maker) ? rows.instanceAdmin(user_id) : undefined;
			return isAdmin === undefined ? undefined : { instance_admin: isAdmin === 1 };
		},
		role(realm_id, user_id) {
			const owner = rows.owner(realm_id);
			if (owner === undefined) return undefined;
			if (owner === user_id) return "admin";
			return rows.boundRole(realm_id, user_id) ?? rows.machineRole(realm_id, user_id) ?? null;
		},
	};
}

/**
 * Remembers the rows that say what makers may do, within one transaction: a batch is often of one maker, and reading these rows with their MACs takes a
 * twentieth of a write.
 * @param changes counts changes of rows that grant access; undefined where nobody counts, and nothing is remembered
 * @returns the reads, and the function that forgets all: between transactions, another program may change rows
 */
export function rememberAccess(
	rows: AccessRows,
	changes: () => number | undefined,
): { rows: AccessRows; forget: () => void } {
	const known = new Map<string, unknown>();
	let counted: number | undefined;
	const remembering =
		(name: string, read: (...ids: string[]) => unknown) =>
		(...ids: string[]): unknown => {
			const count = changes();
			if (count === undefined) return read(...ids);
			if (count !== counted) known.clear();
			counted = count;
			const key = [name, ...ids].join(" ");
			const found = known.get(key);
			if (found !== undefined || known.has(key)) return found;
			const answer = read(...ids);
			known.set(key, answer);
			return answer;
		};
	const remembered = Object.entries(rows).map(([name, read]) => [name, remembering(name, read)]);
	return { rows: Object.fromEntries(remembered) as AccessRows, forget: () => known.clear() };
}
