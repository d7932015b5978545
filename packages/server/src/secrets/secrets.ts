import type { BulkReads } from "../audit/bulk-reads.ts";
import { eventBy } from "../audit/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { sealPortable } from "../crypto/seal.ts";
import { AppError } from "../errors.ts";
import { hasExpired } from "../expiry.ts";
import type { Environment } from "../messages.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { type AccessNeeds, authorize, requireWithinLimits } from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmAccess } from "../realms/model.ts";
import type { AccountSemaphore } from "../semaphore.ts";
import type { System } from "../system.ts";
import type { SecretStore, SecretVersion, SetSecret, VersionInfo } from "./model.ts";
import { realmFull, secretNotFound, versionMoved } from "./refusals.ts";
import { openedValue, openStored, openValue, sealValue } from "./value.ts";

/** Dependencies of the secret rules. */
export interface SecretNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { secrets: SecretStore };
	system: System;
	keyring: Pick<Keyring, "record" | "recordFor" | "portable" | "portableById" | "cursorKey">;
	/** Treats a secret past its expires_at as missing. */
	enforce_expiry: boolean;
	/** Bytes that a realm may hold, unless its owner's account has its own limit. */
	realm_bytes: number;
}

/** Dependencies of the rules that read many secrets at once. */
export interface BulkNeeds extends SecretNeeds {
	bulk_reads: BulkReads;
	whole_reads: Pick<AccountSemaphore, "run">;
}

/** Name of a secret. */
export interface SecretName {
	slug: string;
	environment: Environment;
	key: string;
}

/** A secret that was read. */
export interface SecretValue {
	key: string;
	value: string;
	environment: Environment;
	version: number;
	/** ISO 8601 UTC. */
	updated_at: string;
	/** True if its expires_at has passed. */
	is_expired: boolean;
}

/** A secret that was written. */
export interface SecretWritten {
	key: string;
	environment: Environment;
	version: number;
	created_at: string;
	updated_at: string;
}

/**
 * Creates the secret, or raises its version when the key already exists in that environment.
 * @throws AppError not_found (realm), forbidden, insufficient_scope, validation_failed (expires_at in the past), limit_reached, conflict (the
 * current version is not if_version)
 * Spec: API › Secrets and encryption
 */
export async function setSecret(
	needs: SecretNeeds,
	actor: Actor,
	slug: string,
	input: SetSecret,
): Promise<SecretWritten> {
	const { environment } = input;
	const realm = await authorize(needs, actor, slug, { capability: "secrets:write", environment });
	const expires_at = input.expires_at ?? null;
	if (hasExpired(expires_at, needs.system.now())) {
		throw new AppError("validation_failed", "expires_at must be in the future");
	}
	const { key, value, comment, pre_encrypted, if_version } = input;
	const row = { key, value, environment, comment, pre_encrypted, expires_at };
	return write(needs, actor, realm, "secret.set", if_version === undefined ? row : { ...row, if_version });
}

type NewVersion = Pick<SecretVersion, "key" | "environment" | "comment" | "pre_encrypted" | "expires_at"> & {
	value: string;
	if_version?: number | null;
};

async function write(
	needs: SecretNeeds,
	actor: Actor,
	realm: RealmAccess,
	type: "secret.set" | "secret.rollback",
	input: NewVersion,
	facts: { from_version?: number } = {},
): Promise<SecretWritten> {
	const now = needs.system.now();
	const { key, environment, pre_encrypted } = input;
	const row = {
		...input,
		id: needs.system.uuid(),
		realm_id: realm.id,
		created_by: actor.user_id,
		created_at: now.toISOString(),
		realm_bytes: needs.realm_bytes,
	};
	const event = eventBy(actor, now, type, realm, { key, environment, pre_encrypted, ...facts });
	const written = await needs.store.secrets.set({ ...row, value: await sealValue(needs, row, input.value) }, event);
	if (written === "realm_gone") throw realmNotFound();
	if (written === "limit_reached") throw realmFull();
	if (written === "changed") throw versionMoved();
	return { key, environment, version: written.version, created_at: written.created_at, updated_at: row.created_at };
}

/**
 * Reads a secret, its current version or one of its history. The access is logged before the value is returned.
 * @param via the way of access to name in the log
 * @throws AppError not_found (realm, secret or version), forbidden, insufficient_scope
 * Spec: API › Secrets and encryption, Operator-sync endpoints
 */
export async function getSecret(
	needs: SecretNeeds,
	actor: Actor,
	name: SecretName,
	via: "api" | "eso" | "console",
	version?: number,
): Promise<SecretValue> {
	const { environment, key } = name;
	const realm = await authorize(needs, actor, name.slug, { capability: "secrets:read", environment });
	const { secrets } = needs.store;
	const row =
		version === undefined ? await secrets.get(realm.id, environment, key) : await find(needs, realm.id, name, version);
	if (row === undefined) throw secretNotFound();
	const now = needs.system.now();
	const { version: found, created_at: updated_at } = row;
	const value = openedValue(row) ?? (await openValue(needs, row));
	const secret = { key, value, environment, version: found, updated_at, is_expired: isExpired(row, now) };
	if (secret.is_expired && needs.enforce_expiry) throw secretNotFound();
	await needs.store.audit.append(eventBy(actor, now, "secret.read", realm, { key, environment, version: found, via }));
	return secret;
}

async function find(
	needs: SecretNeeds,
	realm_id: string,
	{ environment, key }: SecretName,
	version?: number,
): Promise<SecretVersion> {
	const current = await needs.store.secrets.get(realm_id, environment, key);
	if (current === undefined) throw secretNotFound();
	if (version === undefined || version === current.version) return current;
	const row = await needs.store.secrets.version(realm_id, environment, key, version);
	if (row === undefined)
		throw new AppError("not_found", "version not found: `svc secret history` shows the kept versions");
	return row;
}

/** Tells whether a version's expires_at has passed. */
export function isExpired(row: Pick<SecretVersion, "expires_at">, now: Date): boolean {
	return hasExpired(row.expires_at, now);
}

/**
 * Reads one page of a secret's versions, newest first.
 * @throws AppError not_found, forbidden, insufficient_scope
 * Design: §7.1
 */
export async function listVersions(
	needs: SecretNeeds,
	actor: Actor,
	name: SecretName,
	page: PageRequest,
): Promise<{ rows: VersionInfo[]; pagination: Pagination }> {
	const { environment, key } = name;
	const realm = await authorize(needs, actor, name.slug, { capability: "secrets:read", environment });
	await find(needs, realm.id, name);
	return readPage(needs.keyring.cursorKey(), page, {
		list: `versions ${realm.id} ${environment} ${key}`,
		read: (before, limit) =>
			needs.store.secrets.history(realm.id, environment, key, before === undefined ? before : Number(before), limit),
		position: (row) => String(row.version),
		count: () => needs.store.secrets.countHistory(realm.id, environment, key),
	});
}

/**
 * Writes an earlier version's value and comment again as the next version, without its expiry.
 * @throws AppError not_found (realm, secret or version), forbidden, insufficient_scope, limit_reached
 * Design: §7.1, §7.2
 */
export async function rollbackSecret(
	needs: SecretNeeds & { rewrites: Pick<AccountSemaphore, "run"> },
	actor: Actor,
	name: SecretName,
	version: number,
): Promise<SecretWritten> {
	const { environment, key } = name;
	const realm = await authorize(needs, actor, name.slug, { capability: "secrets:write", environment });
	const row = await find(needs, realm.id, name, version);
	const value = await openStored(needs, row);
	const { comment, pre_encrypted } = row;
	const input = { key, environment, value, comment, pre_encrypted, expires_at: null };
	return needs.rewrites.run(
		() => write(needs, actor, realm, "secret.rollback", input, { from_version: version }),
		actor,
	);
}

/**
 * Seals a text that you can keep anywhere and store as a pre-encrypted secret.
 * @throws AppError insufficient_scope (a token for roles of engines only)
 * Spec: API › Secrets and encryption
 */
export async function encrypt(needs: SecretNeeds, actor: Actor, value: string): Promise<string> {
	await requireWithinLimits(needs, actor, "encrypt", { environment: actor.environment ?? undefined });
	await needs.store.audit.append(eventBy(actor, needs.system.now(), "encrypt", undefined, {}));
	return sealPortable(needs.keyring.portable(), value, needs.system.randomBytes);
}
