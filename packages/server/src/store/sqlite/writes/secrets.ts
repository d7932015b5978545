import type { Database } from "better-sqlite3";
import type { AuditEvent, EventData } from "../../../audit/model.ts";
import type { Promoted, SecretVersion } from "../../../secrets/model.ts";
import type { Append } from "./audit.ts";

interface Head {
	id: number;
	version: number;
	created_at: string;
	deleted_at: string | null;
}

/** Versions of a secret that are kept, the current one included. Design: §7. */
export const MAX_VERSIONS = 20;

/** The row of a key in an environment, live or deleted. */
function heads(db: Database) {
	const find = db.prepare(
		"SELECT id, version, created_at, deleted_at FROM secret WHERE realm_id = @realm_id AND environment = @environment AND key = @key",
	);
	const forget = db.prepare("DELETE FROM secret WHERE id = ?");
	const add = db.prepare("INSERT INTO secret (realm_id, environment, key, version, created_at) VALUES (?, ?, ?, ?, ?)");
	const raise = db.prepare("UPDATE secret SET version = ? WHERE id = ?");
	return {
		find: (name: object) => find.get(name) as Head | undefined,
		/** The row for the next version. A deleted secret gets a new one, so that the order of rows is the order of creation. */
		next(input: Omit<SecretVersion, "version">): Pick<Head, "id" | "version" | "created_at"> {
			const found = find.get(input) as Head | undefined;
			const version = (found?.version ?? 0) + 1;
			if (found !== undefined && found.deleted_at === null) {
				raise.run(version, found.id);
				return { ...found, version };
			}
			if (found !== undefined) forget.run(found.id);
			const { lastInsertRowid } = add.run(input.realm_id, input.environment, input.key, version, input.created_at);
			return { id: Number(lastInsertRowid), version, created_at: input.created_at };
		},
	};
}

/** Operations on secrets. */
export function secretWrites(db: Database, append: Append) {
	const head = heads(db);
	const liveRealm = db.prepare("SELECT 1 FROM realm WHERE id = ? AND deleted_at IS NULL").pluck();
	const addVersion = db.prepare(
		"INSERT INTO secret_version (secret_id, version, id, value, pre_encrypted, comment, expires_at, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	);
	const prune = db.prepare("DELETE FROM secret_version WHERE secret_id = ? AND version <= ?");
	const dropVersions = db.prepare("DELETE FROM secret_version WHERE secret_id = ?");
	const markDeleted = db.prepare("UPDATE secret SET deleted_at = ? WHERE id = ?");
	const write = (input: Omit<SecretVersion, "version">, event: AuditEvent, facts: EventData = {}) => {
		const { id, version, created_at } = head.next(input);
		const { value, comment, expires_at, created_by } = input;
		const pre_encrypted = Number(input.pre_encrypted);
		addVersion.run(id, version, input.id, value, pre_encrypted, comment, expires_at, created_by, input.created_at);
		if (version > MAX_VERSIONS) prune.run(id, version - MAX_VERSIONS);
		append(event, { ...facts, version });
		return { version, created_at };
	};
	const currentVersion = (name: object): number | null => {
		const found = head.find(name);
		return found === undefined || found.deleted_at !== null ? null : found.version;
	};
	const isAsExpected = ({ row, from, to_version }: Promoted): boolean => {
		if (currentVersion({ ...row, environment: from.environment }) !== from.version) return false;
		return to_version === undefined || currentVersion(row) === to_version;
	};
	return {
		set(
			input: Omit<SecretVersion, "version">,
			event: AuditEvent,
		): { version: number; created_at: string } | "realm_gone" {
			return liveRealm.get(input.realm_id) === undefined ? "realm_gone" : write(input, event);
		},
		promote(
			secrets: Promoted[],
			event: AuditEvent,
		): { version: number; created_at: string }[] | "realm_gone" | "changed" {
			if (secrets.some(({ row }) => liveRealm.get(row.realm_id) === undefined)) return "realm_gone";
			if (!secrets.every(isAsExpected)) return "changed";
			return secrets.map(({ row, facts }) => write(row, event, facts));
		},
		remove(
			input: { realm_id: string; environment: string; key: string; deleted_at: string },
			event: AuditEvent,
		): boolean {
			const found = head.find(input);
			if (found === undefined || found.deleted_at !== null) return false;
			dropVersions.run(found.id);
			markDeleted.run(input.deleted_at, found.id);
			append(event, { version: found.version });
			return true;
		},
	};
}
