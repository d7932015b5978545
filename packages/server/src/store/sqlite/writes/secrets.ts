import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent, EventData } from "../../../audit/model.ts";
import { release } from "../../../release.ts";
import type { Pruning, RealmQuota } from "../../../secrets/decide.ts";
import { type NewVersion, type Promoted, VERSION_BYTES } from "../../../secrets/model.ts";
import type { Implementations } from "../../store.ts";
import { deletedSecrets, purgeableSecrets } from "./deleted-secrets.ts";
import { createQuotas } from "./quota.ts";

/** Facts of a new row. */
type Fresh = Pick<NewVersion, "realm_id" | "environment" | "key" | "created_at">;

interface Head {
	id: number;
	version: number;
	created_at: string;
	deleted_at: string | null;
}

/** Operations on the row of a key in an environment, live or deleted. */
function heads(db: Database) {
	const find = db.prepare(
		"SELECT id, version, created_at, deleted_at FROM secret WHERE realm_id = @realm_id AND environment = @environment AND key = @key",
	);
	const forget = db.prepare("DELETE FROM secret WHERE id = ?");
	const add = db.prepare("INSERT INTO secret (realm_id, environment, key, version, created_at) VALUES (?, ?, ?, ?, ?)");
	const raise = db.prepare("UPDATE secret SET version = ? WHERE id = ?");
	return {
		find: (name: object) => find.get(name) as Head | undefined,
		/** Returns the row for the next version. A deleted secret gets a new one, so that the order of rows is the order of creation. */
		next(input: Fresh, found: Head | undefined, version: number): Pick<Head, "id" | "created_at"> {
			if (found !== undefined && found.deleted_at === null) {
				raise.run(version, found.id);
				return found;
			}
			if (found !== undefined) forget.run(found.id);
			const { lastInsertRowid } = add.run(input.realm_id, input.environment, input.key, version, input.created_at);
			return { id: Number(lastInsertRowid), created_at: input.created_at };
		},
	};
}

/** A version that has room, and the versions that give way to it. */
interface Planned {
	input: NewVersion;
	found: Head | undefined;
	version: number;
	pruning: Pruning;
	/** Change of its realm's counts. */
	change: { realm_id: string; bytes: number; keys: number };
}

function hasRoom<Plan extends { one: Planned | undefined }>(plan: Plan): plan is Plan & { one: Planned } {
	return plan.one !== undefined;
}

/** Finds room for versions, and writes them. */
function writing(db: Database, append: Append) {
	const head = heads(db);
	const quota = createQuotas(db);
	const addVersion = db.prepare(
		"INSERT INTO secret_version (secret_id, version, id, value, pre_encrypted, comment, expires_at, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	);
	const prune = db.prepare("DELETE FROM secret_version WHERE secret_id = ? AND version <= ?");
	return {
		head,
		quota,
		/** Plans a version in the room that its realm has, and leaves the rest of that room to the next one. */
		plan(held: RealmQuota, input: NewVersion): Planned | undefined {
			const found = head.find(input);
			const version = (found?.version ?? 0) + 1;
			const bytes = input.value.length + VERSION_BYTES;
			const incoming = { version, bytes, created_at: input.created_at, isNewKey: found === undefined };
			const pruning = quota.fit(held, incoming, found?.id);
			if (pruning === undefined) return undefined;
			const change = { realm_id: input.realm_id, bytes: bytes - pruning.bytes, keys: found === undefined ? 1 : 0 };
			held.bytes += change.bytes;
			held.keys += change.keys;
			return { input, found, version, pruning, change };
		},
		write({ input, found, version, pruning, change }: Planned, event: AuditEvent, facts: EventData = {}) {
			const { id, created_at } = head.next(input, found, version);
			const { value, comment, expires_at, created_by } = input;
			const pre_encrypted = Number(input.pre_encrypted);
			addVersion.run(id, version, input.id, value, pre_encrypted, comment, expires_at, created_by, input.created_at);
			release(value);
			if (pruning.up_to > 0) prune.run(id, pruning.up_to);
			quota.count(change);
			append(event, { ...facts, version, ...(pruning.dropped === 0 ? {} : { versions_dropped: pruning.dropped }) });
			return { version, created_at };
		},
	};
}

/** Operations on secrets. */
export function secretWrites(db: Database, append: Append): Implementations<"write">["secrets"] {
	const { head, quota, plan, write } = writing(db, append);
	const currentVersion = (name: object): number | null => {
		const found = head.find(name);
		return found === undefined || found.deleted_at !== null ? null : found.version;
	};
	const isAsExpected = ({ row, from, to_version }: Promoted): boolean => {
		if (currentVersion({ ...row, environment: from.environment }) !== from.version) return false;
		return to_version === undefined || currentVersion(row) === to_version;
	};
	return {
		set(input, event) {
			const held = quota.find(input);
			if (held === undefined) return "realm_gone";
			if (input.if_version !== undefined && currentVersion(input) !== input.if_version) return "changed";
			const planned = plan(held, input);
			return planned === undefined ? "limit_reached" : write(planned, event);
		},
		promote(secrets, event) {
			const held = secrets[0] && quota.find(secrets[0].row);
			if (held === undefined) return "realm_gone";
			if (!secrets.every(isAsExpected)) return "changed";
			const planned = secrets.map(({ row, facts }) => ({ facts, one: plan(held, row) }));
			if (!planned.every(hasRoom)) return "limit_reached";
			return planned.map(({ one, facts }) => write(one, event, facts));
		},
		...removing(db, append),
	};
}

type Removing = "remove" | "restore" | "purge" | "purgeDeleted";

/** Operations that delete secrets, and bring them back. */
function removing(db: Database, append: Append): Pick<Implementations<"write">["secrets"], Removing> {
	const head = heads(db);
	const quota = createQuotas(db);
	const deleted = deletedSecrets(db);
	const purgeable = purgeableSecrets(db);
	const dropVersions = db.prepare("DELETE FROM secret_version WHERE secret_id = ?");
	const markDeleted = db.prepare("UPDATE secret SET deleted_at = ? WHERE id = ?");
	const updatedAt = db.prepare("SELECT created_at FROM secret_version WHERE secret_id = ? AND version = ?").pluck();
	return {
		remove(input, event) {
			const found = head.find(input);
			if (found === undefined || found.deleted_at !== null) return false;
			const { version, created_at } = found;
			deleted.putAside(found.id, { ...input, version, created_at });
			dropVersions.run(found.id);
			markDeleted.run(input.deleted_at, found.id);
			append(event, { version, deletion_id: input.id });
			return true;
		},
		purge(input, event) {
			const found = input.only_deleted ? undefined : head.find(input);
			const lives = found !== undefined && found.deleted_at === null;
			if (lives) {
				quota.count({ realm_id: input.realm_id, bytes: -quota.held(found.id, found.version), keys: 0 });
				dropVersions.run(found.id);
				markDeleted.run(input.by, found.id);
			}
			const removed = purgeable.purge(purgeable.ofKey(input)).length + Number(lives);
			if (removed > 0) append(event, { secrets: removed });
			return removed;
		},
		purgeDeleted(by, event) {
			const removed = purgeable.purge(purgeable.ofTime(by));
			for (const { id, realm_id, realm, environment, key, version } of removed)
				append({ ...event, realm_id, realm }, { key, environment, deletion_id: id, version });
			return removed.length;
		},
		restore({ id, ...input }, event) {
			const found = head.find(input);
			if (found !== undefined && found.deleted_at === null) return "lives";
			const life = deleted.find({ ...input, id });
			if (found === undefined || life === undefined) return "not_found";
			const count = deleted.countOf(life);
			const version = found.version + count;
			const { created_at } = life;
			const { id: secret_id } = head.next({ ...input, created_at }, found, version);
			deleted.bringBack(life, secret_id, version - life.version);
			append(event, { version, deletion_id: life.id, versions: count });
			return { version, created_at, updated_at: updatedAt.get(secret_id, version) as string };
		},
	};
}
