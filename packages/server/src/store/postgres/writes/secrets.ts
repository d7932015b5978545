import type { AuditEvent, EventData } from "../../../audit/model.ts";
import type { Pruning, RealmQuota } from "../../../secrets/decide.ts";
import { type NewVersion, type Promoted, VERSION_BYTES } from "../../../secrets/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { removing } from "./deleted-secrets.ts";
import { countIn, findPruning, type Head, headOf, nextHead, quotaOf } from "./secret-rows.ts";

/** A version that has room, and the versions that give way to it. */
interface Planned {
	input: NewVersion;
	found: Head | undefined;
	version: number;
	pruning: Pruning;
	/** Change of its realm's counts. */
	change: { realm_id: string; bytes: number; keys: number };
	/** Facts of its event. */
	facts: EventData;
}

/** Makes the operations on secrets. */
export function secretWrites(db: Change): Async<Implementations<"write">["secrets"]> {
	return {
		async set(input, event) {
			const held = await quotaOf(db, input);
			if (held === undefined) return "realm_gone";
			if (input.if_version !== undefined && (await currentVersion(db, input)) !== input.if_version) return "changed";
			const planned = await plan(db, held, input);
			return planned === undefined ? "limit_reached" : write(db, planned, event);
		},
		async promote(secrets, event) {
			const held = secrets[0] && (await quotaOf(db, secrets[0].row));
			if (held === undefined) return "realm_gone";
			for (const one of secrets) if (!(await isAsExpected(db, one))) return "changed";
			const all: Planned[] = [];
			for (const { row, facts } of secrets) {
				const planned = await plan(db, held, row, facts);
				if (planned === undefined) return "limit_reached";
				all.push(planned);
			}
			const written = [];
			for (const planned of all) written.push(await write(db, planned, event));
			return written;
		},
		...removing(db),
	};
}

async function currentVersion(db: Change, name: Parameters<typeof headOf>[1]): Promise<number | null> {
	const found = await headOf(db, name);
	return found === undefined || found.deleted_at !== null ? null : found.version;
}

async function isAsExpected(db: Change, { row, from, to_version }: Promoted): Promise<boolean> {
	if ((await currentVersion(db, { ...row, environment: from.environment })) !== from.version) return false;
	return to_version === undefined || (await currentVersion(db, row)) === to_version;
}

/** Plans a version in the room that its realm has, and leaves the rest of that room to the next one. */
async function plan(
	db: Change,
	held: RealmQuota,
	input: NewVersion,
	facts: EventData = {},
): Promise<Planned | undefined> {
	const found = await headOf(db, input);
	const version = (found?.version ?? 0) + 1;
	const bytes = input.value.length + VERSION_BYTES;
	const incoming = { version, bytes, created_at: input.created_at, isNewKey: found === undefined };
	const pruning = await findPruning(db, held, incoming, found?.id);
	if (pruning === undefined) return undefined;
	const change = { realm_id: input.realm_id, bytes: bytes - pruning.bytes, keys: found === undefined ? 1 : 0 };
	held.bytes += change.bytes;
	held.keys += change.keys;
	return { input, found, version, pruning, change, facts };
}

async function write(db: Change, { input, found, version, pruning, change, facts }: Planned, event: AuditEvent) {
	const { id: secret_id, created_at } = await nextHead(db, input, found, version);
	const { id, value, pre_encrypted, comment, expires_at, created_by } = input;
	const row = { secret_id, version, id, value, pre_encrypted, comment, expires_at, created_by };
	await db.insert("secret_version", { ...row, created_at: input.created_at });
	if (pruning.up_to > 0)
		await db.remove("secret_version", "secret_id = $1 AND version <= $2", [secret_id, pruning.up_to]);
	await countIn(db, change);
	db.append(event, { ...facts, version, ...(pruning.dropped === 0 ? {} : { versions_dropped: pruning.dropped }) });
	return { version, created_at };
}
