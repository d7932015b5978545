import { hash } from "node:crypto";
import type { Account, Session } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import type { KeyRow } from "../crypto/keyring-model.ts";
import type { EngineConfigRow } from "../engines/model.ts";
import type { Factor, RecoveryCodes } from "../factors/model.ts";
import type { InvitationWithRoles } from "../invitations/model.ts";
import type { NewLease } from "../leases/model.ts";
import type { Machine, MachineToken } from "../machines/model.ts";
import type { Binding } from "../policy/model.ts";
import type { NewRealm, Realm } from "../realms/model.ts";
import type { ResetCode } from "../resets/model.ts";
import type { NewVersion } from "../secrets/model.ts";
import type { IdentityKey, NewLink } from "../sso/model.ts";
import type { ApiToken } from "../tokens/model.ts";
import type { Trust } from "../trusts/model.ts";

/** The creation time of all rows made here. */
export const MADE_AT = "2030-01-01T00:00:00.000Z";

let made = 0;

/** Makes an id; later ones sort behind earlier ones. */
export function newId(): string {
	return `01990000-0000-7000-8000-${(++made).toString(16).padStart(12, "0")}`;
}

/** Makes an id as a server makes it at that time, in Unix milliseconds. */
export function newIdAt(now_ms: number): string {
	const time = now_ms.toString(16).padStart(12, "0");
	return `${time.slice(0, 8)}-${time.slice(8)}${newId().slice(13)}`;
}

/** Makes an event without a realm. */
export function anEvent(given: Partial<AuditEvent> = {}): AuditEvent {
	return { timestamp: MADE_AT, type: "encrypt", actor: "nobody", realm_id: "", realm: "", data: {}, ...given };
}

/** Makes an account that was never in the store. */
export function anAccount(given: Partial<Account> = {}): Account {
	const id = given.id ?? newId();
	return {
		id,
		email: `${id}@example.com`,
		name: "Ada",
		password: "a hash",
		instance_admin: false,
		disabled_at: null,
		created_at: MADE_AT,
		...given,
	};
}

/** Makes a session of one day. */
export function aSession(user_id: string, given: Partial<Session> = {}): Session {
	return { jti: newId(), user_id, created_at: MADE_AT, expires_at: "2030-01-02T00:00:00.000Z", provider: "", ...given };
}

/** Makes an unknown person at the provider `corp`. */
export function anIdentity(): IdentityKey {
	return { provider: "corp", issuer: "https://id.example.com", subject: newId() };
}

/** Makes a link with an account that has a password, or that signed in to that session. */
export function aLink(
	{ id: user_id, password }: Pick<Account, "id" | "password">,
	identity = anIdentity(),
	jti = "",
): NewLink {
	return { id: newId(), identity, user_id, at: MADE_AT, proof: { password, jti } };
}

/** Makes a realm. */
export function aRealm(user_id: string, given: Partial<Realm> = {}): Realm {
	const id = given.id ?? newId();
	return { id, slug: `realm-${id.slice(-12)}`, name: "Realm", description: "", user_id, created_at: MADE_AT, ...given };
}

/** Makes a new realm with its record key. */
export function aNewRealm(realm: Realm, key = aKey(realm.id), realms_per_account = 250): NewRealm {
	return { realm, key, realms_per_account };
}

/** Reports the master keys of a server whose keys do not matter. */
export const reportNoKeys = async () => ({ master_key: "", next_master_key: "" });

/** Makes a row of the keyring that no master key opens. */
export function aKey(realm_id: string, given: Partial<KeyRow> = {}): KeyRow {
	const id = hash("sha256", newId(), "buffer").subarray(0, 8);
	return {
		id,
		purpose: "record",
		realm_id,
		state: "active",
		wrapped: Buffer.alloc(73, 7),
		created_at: MADE_AT,
		...given,
	};
}

/** Makes a new value of a secret. */
export function aVersion(realm_id: string, key: string, given: Partial<NewVersion> = {}): NewVersion {
	return {
		id: newId(),
		realm_id,
		environment: "dev",
		key,
		value: Buffer.from(`sealed ${key}`),
		pre_encrypted: false,
		comment: "",
		expires_at: null,
		created_by: "nobody",
		created_at: MADE_AT,
		realm_bytes: 64 * 1024 * 1024,
		...given,
	};
}

/** Makes the facts of a deletion. */
export function aDeletion(): { id: string; deleted_by: string; deleted_at: string } {
	return { id: newId(), deleted_by: "nobody", deleted_at: MADE_AT };
}

/** Makes a reset code of one day. */
export function aResetCode(user_id: string, given: Partial<ResetCode> = {}): ResetCode {
	const digest = hash("sha256", newId(), "buffer");
	return {
		user_id,
		digest,
		created_by: "nobody",
		created_at: MADE_AT,
		expires_at: "2030-01-02T00:00:00.000Z",
		...given,
	};
}

/** Makes a second factor that is to be confirmed. */
export function aFactor(user_id: string, given: Partial<Factor> = {}): Factor {
	const sealed = Buffer.from("a box");
	return {
		id: newId(),
		user_id,
		type: "totp",
		name: null,
		rp_id: null,
		sealed,
		last_step: 0,
		created_at: MADE_AT,
		confirmed_at: null,
		...given,
	};
}

/** Makes two recovery codes: their digests are 32 bytes 1 and 32 bytes 2. */
export function recoveryCodes(user_id: string): RecoveryCodes {
	return { user_id, digests: Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]), created_at: MADE_AT };
}

/** Makes an invitation of one week, without roles. */
export function anInvitation(created_by: string, given: Partial<InvitationWithRoles> = {}): InvitationWithRoles {
	const id = given.id ?? newId();
	return {
		id,
		email: `${id}@example.com`,
		digest: hash("sha256", id, "buffer"),
		created_by,
		created_at: MADE_AT,
		expires_at: "2030-01-08T00:00:00.000Z",
		bindings: [],
		...given,
	};
}

/** Makes an API token. */
export function aToken(user_id: string, given: Partial<ApiToken> = {}): ApiToken {
	const id = newId();
	return {
		id,
		user_id,
		name: "ci",
		prefix: "svc_abcdefgh",
		digest: hash("sha256", id, "buffer"),
		scopes: "read",
		realm_id: null,
		environment: null,
		engines: null,
		maker_id: null,
		expires_at: null,
		last_used_at: null,
		created_at: MADE_AT,
		...given,
	};
}

/** Makes a machine of a realm. */
export function aMachine(realm_id: string, given: Partial<Machine> = {}): Machine {
	const id = given.id ?? newId();
	return {
		id,
		realm_id,
		name: `machine-${id.slice(-12)}`,
		role: "viewer",
		scopes: "read",
		environment: null,
		engines: null,
		description: "",
		created_by: "nobody",
		created_at: MADE_AT,
		...given,
	};
}

/** Makes a token of a machine for one day. */
export function aMachineToken(machine_id: string, given: Partial<MachineToken> = {}): MachineToken {
	const id = newId();
	return {
		id,
		machine_id,
		name: "",
		prefix: "svc_abcdefgh",
		digest: hash("sha256", id, "buffer"),
		trust_id: null,
		created_by: "nobody",
		created_at: MADE_AT,
		expires_at: "2030-01-02T00:00:00.000Z",
		last_used_at: null,
		...given,
	};
}

/** Makes a trust of a machine in an issuer on the Internet. */
export function aTrust(machine_id: string, given: Partial<Trust> = {}): Trust {
	const id = given.id ?? newId();
	return {
		id,
		machine_id,
		name: `trust-${id.slice(-12)}`,
		type: "oidc",
		issuer: "https://id.example.com",
		trust_domain: null,
		audience: "https://svc.example.com",
		claims: '{"sub":"deploy"}',
		max_ttl_ms: 3_600_000,
		single_use: true,
		jwks: null,
		ca_cert: null,
		keys_host: "id.example.com",
		created_by: "nobody",
		created_at: MADE_AT,
		...given,
	};
}

/** Makes a role in a realm. */
export function aBinding(realm_id: string, user_id: string, given: Partial<Binding> = {}): Binding {
	return { id: newId(), realm_id, user_id, role: "viewer", granted_by: "nobody", created_at: MADE_AT, ...given };
}

/** Makes an engine's configuration for all realms that no key opens. */
export function aConfig(given: Partial<EngineConfigRow> = {}): EngineConfigRow {
	return {
		id: newId(),
		engine: "keyvalue",
		realm_id: "",
		state: "active",
		sealed: Buffer.alloc(40, 7),
		created_by: "nobody",
		created_at: MADE_AT,
		...given,
	};
}

/** Makes a credential of one hour, not yet in the store, of an engine without a configuration. */
export function aLease(realm_id: string, given: Partial<NewLease> = {}): NewLease {
	const id = given.id ?? newId();
	return {
		id,
		engine: "keyvalue",
		target: "keyvalue:target",
		name: `svc_${id.slice(-8)}`,
		scope: "",
		realm_id,
		realm: "realm",
		config_id: "",
		config_realm_id: "",
		role: "readonly",
		user_id: "nobody",
		due_at: Date.parse(MADE_AT) + 60 * 60 * 1000,
		expires_at: "2030-01-01T01:00:00.000Z",
		fence: "",
		created_at: MADE_AT,
		...given,
	};
}

/** Names a deleted realm to be purged, whenever it was deleted. */
export function purgeable(id: string): { id: string; deleted_before: string } {
	return { id, deleted_before: "9999" };
}
