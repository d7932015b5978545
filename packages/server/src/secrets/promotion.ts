import { setImmediate as nextTurn } from "node:timers/promises";
import { eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { Environment } from "../messages.ts";
import { authorize } from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmAccess } from "../realms/model.ts";
import { release } from "../release.ts";
import { type AccountSemaphore, createAccountSemaphore } from "../semaphore.ts";
import type { Promote, Promoted, SecretVersion } from "./model.ts";
import { realmFull, secretNotFound } from "./refusals.ts";
import { isExpired, type SecretNeeds, type SecretWritten } from "./secrets.ts";
import { openStored, sealValue } from "./value.ts";

/** Bytes of sealed values promoted at once: they reach the writer in one message, and everybody waits while it writes them. */
const MAX_PROMOTED_BYTES = 2 * 1024 * 1024;

/** Bytes and secrets resealed in one turn of the event loop. */
const REST_BYTES = 1024 * 1024;
const REST_SECRETS = 50;

/** Creates the semaphore of promotions: each may hold MAX_PROMOTED_BYTES several times over. Design: §13 */
export function createPromotions(): AccountSemaphore {
	return createAccountSemaphore({
		name: "promotions_waiting_per_account",
		what: "promotions",
		each: 1,
		all: 1,
		waiting: 16,
		rests: true,
		hint: "one account promotes many secrets at once: let it send one request after another",
	});
}

/** Dependencies of promotions. */
export interface PromotionNeeds extends SecretNeeds {
	promotions: Pick<AccountSemaphore, "run">;
}

async function liveRow(needs: SecretNeeds, realm_id: string, environment: Environment, key: string) {
	const row = await needs.store.secrets.get(realm_id, environment, key);
	return row !== undefined && isThere(needs, row) ? row : undefined;
}

function isThere(needs: SecretNeeds, row: SecretVersion): boolean {
	return !(needs.enforce_expiry && isExpired(row, needs.system.now()));
}

/**
 * Copies secrets from one environment to another, all or none: value, comment and expires_at, resealed for their new row. A named version
 * must be the current one.
 * @throws AppError not_found (realm or a secret), forbidden, insufficient_scope, conflict (not the named version, or changed meanwhile),
 * payload_too_large, limit_reached, rate_limited
 * Design: §7.1
 */
export async function promoteSecrets(
	needs: PromotionNeeds,
	actor: Actor,
	slug: string,
	wanted: Promote,
): Promise<SecretWritten[]> {
	// A caller who may write everywhere and read in one place could read everything by copying it there.
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", environment: wanted.from });
	await authorize(needs, actor, slug, { capability: "secrets:write", environment: wanted.to });
	return needs.promotions.run(() => promote(needs, actor, realm, wanted), actor);
}

async function promote(
	needs: PromotionNeeds,
	actor: Actor,
	realm: RealmAccess,
	{ from, to, secrets }: Promote,
): Promise<SecretWritten[]> {
	const now = needs.system.now();
	const created_at = now.toISOString();
	const promoted: Promoted[] = [];
	let bytes = 0;
	let rested = 0;
	for (const { key, from_version, to_version } of secrets) {
		const source = await liveRow(needs, realm.id, from, key);
		if (source === undefined) throw secretNotFound();
		if (from_version !== undefined && from_version !== source.version) throw changedMeanwhile();
		const row = await copyOf(needs, source, { environment: to, created_by: actor.user_id, created_at });
		bytes += row.value.length;
		if (bytes - rested > REST_BYTES || promoted.length % REST_SECRETS === REST_SECRETS - 1) {
			rested = bytes;
			await nextTurn();
		}
		if (bytes > MAX_PROMOTED_BYTES)
			throw new AppError("payload_too_large", "these secrets exceed 2 MiB in total: promote fewer at once");
		const origin = { from_environment: from, from_version: source.version };
		const facts = { key, environment: to, pre_encrypted: row.pre_encrypted, ...origin };
		promoted.push({
			row,
			facts,
			from: { environment: from, version: source.version },
			...(to_version === undefined
				? {}
				: { to_version: to_version ?? (await expiredVersion(needs, realm.id, to, key)) }),
		});
	}
	const written = await needs.store.secrets.promote(promoted, eventBy(actor, now, "secret.set", realm, {}));
	for (const { row } of promoted) release(row.value);
	if (written === "realm_gone") throw realmNotFound();
	if (written === "limit_reached") throw realmFull();
	if (written === "changed") throw changedMeanwhile();
	return written.map((head, index) => ({
		key: secrets[index]?.key ?? "",
		environment: to,
		updated_at: created_at,
		...head,
	}));
}

/** Finds the expired version where a comparison showed nothing; null when there is none. */
async function expiredVersion(needs: SecretNeeds, realm_id: string, environment: Environment, key: string) {
	const row = await needs.store.secrets.get(realm_id, environment, key);
	return row === undefined || isThere(needs, row) ? null : row.version;
}

/** Makes a row for another environment, with the value sealed for it: text that the caller sealed stays as it is. */
async function copyOf(
	needs: SecretNeeds,
	source: SecretVersion,
	row: Pick<SecretVersion, "environment" | "created_by" | "created_at">,
): Promise<Promoted["row"]> {
	const { realm_id, key, comment, pre_encrypted, expires_at } = source;
	const { realm_bytes, system } = needs;
	const copy = { id: system.uuid(), realm_id, key, comment, pre_encrypted, expires_at, realm_bytes, ...row };
	return { ...copy, value: await sealValue(needs, copy, await openStored(needs, source)) };
}

function changedMeanwhile(): AppError {
	return new AppError("conflict", "a secret has changed since you compared: run `svc diff` again");
}
