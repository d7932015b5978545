import type { KeyPurpose } from "../../crypto/keyring-model.ts";
import type { EngineConfigRow } from "../../engines/model.ts";
import type { Factor } from "../../factors/model.ts";
import type { LeaseState, RevokeReason } from "../../leases/model.ts";
import type { Environment } from "../../messages.ts";
import type { Role } from "../../policy/model.ts";
import type { ProviderType } from "../../sso/model.ts";
import type { TrustType } from "../../trusts/model.ts";
import { customType, integer, sqliteTable, text } from "./drizzle.ts";
import { verified } from "./row-guard.ts";

/** Bytes. A value of another type, which only another program writes, becomes none, which open nothing. */
const bytes = customType<{ data: Buffer }>({
	dataType: () => "blob",
	fromDriver: (value) => (Buffer.isBuffer(value) ? value : Buffer.alloc(0)),
});

/** The tables as reads see them, those whose rows authenticate themselves through views that leave out what was altered; audit-log.ts reads the log. The full schema, with checks, indexes and triggers, is in migrations.ts. */
const metaColumns = { name: text().primaryKey(), value: text().notNull() };
export const meta = sqliteTable("meta", metaColumns);

/** The same without what another program altered, which is not known before the keyring is open. */
export const verifiedMeta = sqliteTable(verified("meta"), metaColumns);

export const keyring = sqliteTable("keyring", {
	id: bytes().primaryKey(),
	purpose: text().$type<KeyPurpose>().notNull(),
	realm_id: text().notNull(),
	state: text().$type<"active" | "retired">().notNull(),
	wrapped: bytes().notNull(),
	created_at: text().notNull(),
});

export const account = sqliteTable(verified("account"), {
	id: text().primaryKey(),
	email: text().notNull(),
	name: text().notNull(),
	password: text(),
	instance_admin: integer({ mode: "boolean" }).notNull(),
	disabled_at: text(),
	created_at: text().notNull(),
});

export const session = sqliteTable(verified("session"), {
	jti: text().primaryKey(),
	user_id: text().notNull(),
	created_at: text().notNull(),
	expires_at: text().notNull(),
	provider: text().notNull(),
});

export const knownSource = sqliteTable(verified("known_source"), {
	pair: bytes().primaryKey(),
	user_id: text().notNull(),
	seen_at: text().notNull(),
});

export const realm = sqliteTable(verified("realm"), {
	id: text().primaryKey(),
	slug: text().notNull(),
	name: text().notNull(),
	description: text().notNull(),
	user_id: text().notNull(),
	created_at: text().notNull(),
	deleted_at: text(),
	bytes: integer().notNull(),
	keys: integer().notNull(),
	deleted_by: text(),
});

export const accountLimit = sqliteTable(verified("account_limit"), {
	user_id: text().primaryKey(),
	realm_bytes: integer(),
	realms: integer(),
});

export const resetCode = sqliteTable(verified("reset_code"), {
	user_id: text().primaryKey(),
	digest: bytes().notNull(),
	created_by: text().notNull(),
	created_at: text().notNull(),
	expires_at: text().notNull(),
});

export const invitation = sqliteTable(verified("invitation"), {
	id: text().primaryKey(),
	email: text().notNull(),
	digest: bytes().notNull(),
	created_by: text().notNull(),
	created_at: text().notNull(),
	expires_at: text().notNull(),
});

export const invitationBinding = sqliteTable(verified("invitation_binding"), {
	invitation_id: text().notNull(),
	realm_id: text().notNull(),
	role: text().$type<Role>().notNull(),
});

export const factor = sqliteTable(verified("factor"), {
	id: text().primaryKey(),
	user_id: text().notNull(),
	type: text().$type<Factor["type"]>().notNull(),
	name: text(),
	rp_id: text(),
	sealed: bytes().notNull(),
	last_step: integer().notNull(),
	created_at: text().notNull(),
	confirmed_at: text(),
});

export const recoveryCodes = sqliteTable(verified("recovery_codes"), {
	user_id: text().primaryKey(),
	digests: bytes().notNull(),
	created_at: text().notNull(),
});

export const apiToken = sqliteTable(verified("api_token"), {
	id: text().primaryKey(),
	user_id: text().notNull(),
	name: text().notNull(),
	prefix: text().notNull(),
	digest: bytes().notNull(),
	scopes: text().notNull(),
	realm_id: text(),
	environment: text(),
	expires_at: text(),
	last_used_at: text(),
	created_at: text().notNull(),
	engines: text(),
	maker_id: text(),
});

export const binding = sqliteTable(verified("binding"), {
	id: text().primaryKey(),
	realm_id: text().notNull(),
	user_id: text().notNull(),
	role: text().$type<Role>().notNull(),
	granted_by: text().notNull(),
	created_at: text().notNull(),
});

export const machine = sqliteTable(verified("machine"), {
	id: text().primaryKey(),
	realm_id: text().notNull(),
	name: text().notNull(),
	role: text().$type<Role>().notNull(),
	scopes: text().notNull(),
	environment: text().$type<Environment>(),
	engines: text(),
	description: text().notNull(),
	created_by: text().notNull(),
	created_at: text().notNull(),
});

export const machineToken = sqliteTable(verified("machine_token"), {
	id: text().primaryKey(),
	machine_id: text().notNull(),
	name: text().notNull(),
	prefix: text().notNull(),
	digest: bytes().notNull(),
	trust_id: text(),
	created_by: text().notNull(),
	created_at: text().notNull(),
	expires_at: text().notNull(),
	last_used_at: text(),
});
export const trust = sqliteTable(verified("trust"), {
	id: text().primaryKey(),
	machine_id: text().notNull(),
	name: text().notNull(),
	type: text().$type<TrustType>().notNull(),
	issuer: text(),
	trust_domain: text(),
	audience: text().notNull(),
	claims: text().notNull(),
	max_ttl_ms: integer().notNull(),
	single_use: integer({ mode: "boolean" }).notNull(),
	jwks: text(),
	ca_cert: text(),
	keys_host: text(),
	created_by: text().notNull(),
	created_at: text().notNull(),
});

export const secret = sqliteTable(verified("secret"), {
	id: integer().primaryKey(),
	realm_id: text().notNull(),
	environment: text().$type<Environment>().notNull(),
	key: text().notNull(),
	version: integer().notNull(),
	created_at: text().notNull(),
	deleted_at: text(),
});

export const secretVersion = sqliteTable(verified("secret_version"), {
	secret_id: integer().notNull(),
	version: integer().notNull(),
	id: text().notNull(),
	pre_encrypted: integer({ mode: "boolean" }).notNull(),
	expires_at: text(),
	created_by: text().notNull(),
	created_at: text().notNull(),
	comment: text().notNull(),
	// Last, because a column behind it would cost as much to read as the value itself.
	value: bytes().notNull(),
});

const configColumns = {
	id: text().primaryKey(),
	engine: text().notNull(),
	realm_id: text().notNull(),
	state: text().$type<EngineConfigRow["state"]>().notNull(),
	sealed: bytes().notNull(),
	created_by: text().notNull(),
	created_at: text().notNull(),
};
export const engineConfig = sqliteTable(verified("engine_config"), configColumns);

/** The same with what another program altered. */
export const storedConfig = sqliteTable("engine_config", configColumns);

export const engineFormerRealm = sqliteTable(verified("engine_former_realm"), {
	engine: text().notNull(),
	realm_id: text().notNull(),
});

export const lease = sqliteTable("lease", {
	id: text().primaryKey(),
	engine: text().notNull(),
	target: text().notNull(),
	name: text().notNull(),
	scope: text().notNull(),
	realm_id: text().notNull(),
	realm: text().notNull(),
	config_id: text().notNull(),
	config_realm_id: text().notNull(),
	role: text().notNull(),
	user_id: text().notNull(),
	state: text().$type<LeaseState>().notNull(),
	due_at: integer(),
	expires_at: text().notNull(),
	attempts: integer().notNull(),
	last_error: text().notNull(),
	fence: text().notNull(),
	reason: text().$type<RevokeReason | "">().notNull(),
	payload: bytes(),
	created_at: text().notNull(),
	delivered_at: text(),
	closed_at: text(),
});

export const leaseCount = sqliteTable("lease_count", {
	engine: text().notNull(),
	config_realm_id: text().notNull(),
	state: text().$type<LeaseState>().notNull(),
	count: integer().notNull(),
});

export const ssoProvider = sqliteTable(verified("sso_provider"), {
	name: text().primaryKey(),
	id: text().notNull(),
	type: text().$type<ProviderType>().notNull(),
	display_name: text().notNull(),
	sealed: bytes().notNull(),
	created_by: text().notNull(),
	created_at: text().notNull(),
});

export const ssoIdentity = sqliteTable(verified("sso_identity"), {
	provider: text().notNull(),
	issuer: text().notNull(),
	subject: text().notNull(),
	user_id: text().notNull(),
	is_vouched: integer({ mode: "boolean" }).notNull(),
	created_at: text().notNull(),
	id: text().notNull(),
	made_account: integer({ mode: "boolean" }).notNull(),
});
