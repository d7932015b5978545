/** Those who can make a table grow: anybody, a signed-in person, the instance admin, or the server by itself. */
export type Grower = "stranger" | "account" | "instance admin" | "server";

/** A table, who makes it grow, its bound, and the effect of more. SECURITY.md shows them. */
export type RowBound = readonly [table: string, by: Grower, bound: string, beyond: string];

/** Every table of the schema. A new table without a row fails the test. Design: §13 */
export const ROW_BOUNDS: readonly RowBound[] = [
	[
		"account",
		"stranger",
		"100,000 by registration (300 a minute and source)",
		"409 `limit_reached`; the instance admin and providers make further ones",
	],
	["account_limit", "instance admin", "1 per account", "–"],
	[
		"api_token",
		"account",
		"1,000 per account that have not expired, and 1,000 that have, for 30 days",
		"409 `limit_reached`; the oldest expired ones go",
	],
	["audit_block", "server", "1 per 256 events", "as events"],
	["audit_checkpoint", "server", "1 a second in which there were events", "–"],
	[
		"audit_event",
		"stranger",
		"none: the log is kept whole",
		"below 15 % of free disk (on PostgreSQL: of `database_bytes`) 429 from 20 events a second of one account or source; below 64 MiB health is `unhealthy`",
	],
	["audit_key", "account", "1 per key that a bulk read met", "kept with the log"],
	["audit_key_in_part", "account", "384 per part", "–"],
	["audit_key_part", "account", "1 or 2 per change of a realm's keys, 1 per 192 keys at first", "as events"],
	["audit_key_set", "account", "1 per bulk read of keys that were not read together before", "as events"],
	["audit_part_in_set", "account", "1 per 192 keys of a set", "–"],
	[
		"audit_posting",
		"server",
		"1 per type, actor, realm, environment, token and set of keys in 256 events; 64 in 16,384",
		"as events",
	],
	[
		"binding",
		"account",
		"1,000 per realm and 1,000 per account, deleted realms included",
		"409 `limit_reached`; a sign-in goes without the role",
	],
	[
		"deleted_secret",
		"account",
		"counted with its versions in `limits.realm_bytes`, for 30 days",
		"409 `limit_reached`",
	],
	["deleted_version", "account", "`limits.realm_bytes`, 64 MiB per realm, for 30 days", "409 `limit_reached`"],
	[
		"engine_config",
		"instance admin",
		"1 per engine and realm; replaced ones until their last credential is gone; 1 authority per realm",
		"–",
	],
	["engine_former_realm", "server", "written by a migration only", "–"],
	["factor", "account", "10 per account, and 1 that is to be confirmed within 15 minutes", "409 `limit_reached`"],
	["invitation", "account", "100 open ones per account, for 7 days", "409 `limit_reached`"],
	["invitation_binding", "account", "50 open ones per realm, and 50 more of its owner", "409 `limit_reached`"],
	["keyring", "account", "1 per realm, and those that the instance admin rotates", "as realms"],
	["known_source", "account", "32 per account, for 30 days", "the oldest goes"],
	[
		"lease",
		"account",
		"open ones: `max_connections`, 1,000 per engine and realm without it; closed ones for 90 days",
		"409 `lease_limit_reached`; closed ones as events below 15 % of free disk",
	],
	["lease_count", "instance admin", "7 states per configured engine and realm", "–"],
	["machine", "account", "250 per realm", "409 `limit_reached`"],
	[
		"machine_token",
		"account",
		"100 per machine that people made, 1,000 that trusts gave; 100 that have expired, for 30 days",
		"409 `limit_reached`; the oldest expired ones go",
	],
	["meta", "server", "fixed names", "–"],
	["migration", "server", "1 per migration", "–"],
	["realm", "account", "`limits.realms_per_account`, 250 per account", "409 `limit_reached`"],
	["recovery_codes", "account", "1 per account", "the earlier ones end"],
	["reset_code", "instance admin", "1 per account, for 24 h", "the earlier one ends"],
	["secret", "account", "1 per 256 B of `limits.realm_bytes` and realm", "409 `limit_reached`"],
	[
		"secret_version",
		"account",
		"`limits.realm_bytes`, 64 MiB per realm; 20 per secret",
		"older versions go, then 409 `limit_reached`",
	],
	["session", "account", "200 per account, for 24 h", "the oldest ends"],
	["sso_identity", "account", "20 per account", "409 `limit_reached`"],
	["sso_provider", "instance admin", "none", "–"],
	["sso_used", "stranger", "600 refused logins a minute and source, until an hour after they end", "429"],
	["tip", "server", "1", "–"],
	["trust", "account", "20 per machine", "409 `limit_reached`"],
	[
		"trust_used",
		"account",
		"50,000 per realm, until 90 s after the JWT ends, which is within 25 h",
		"401 `invalid_credentials`",
	],
];
