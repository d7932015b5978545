import { hash } from "node:crypto";
import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { atMost, Environment, errorMessage, instantOf, RequiredPlainText, Text } from "../messages.ts";
import { type Port, read, scan, write } from "../operation.ts";
import { type MachineCaller, type Purpose, SCOPES, type Scope } from "../policy/model.ts";

const SCOPES_RULE = errorMessage("invalid_scope", "scopes must be a comma-separated list of read, write and delete");

/** Characters of a list of scopes: repeats and blanks are tolerated, a megabyte of them is not. */
const MAX_SCOPES = 1024;

/** Comma-separated scopes: blanks trimmed, repeats dropped, sorted in one order; absent, null and `""` mean read. Design: §7.2. */
export const Scopes = v.pipe(
	v.nullish(Text, ""),
	v.maxLength(MAX_SCOPES, SCOPES_RULE),
	v.transform((text) => text.split(",").map((part) => part.trim())),
	v.transform((parts) => (parts.length === 1 && parts[0] === "" ? ["read"] : parts)),
	v.check((parts) => parts.every((part) => (SCOPES as readonly string[]).includes(part)), SCOPES_RULE),
	v.transform((parts): Scope[] => SCOPES.filter((scope) => parts.includes(scope))),
);

const ENGINES = errorMessage(
	"validation_failed",
	"engines must be a list of 1 to 32 roles of engines, such as keyvalue:readonly",
);

/** Roles of engines, each once, in alphabetical order. */
export const Engines = v.pipe(
	v.array(v.pipe(Text, v.maxLength(160, ENGINES)), ENGINES),
	v.minLength(1, ENGINES),
	v.maxLength(32, ENGINES),
	v.transform((names) => [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))),
);

/** Text kept in place of scopes for a token that makes and downloads backups. */
export const FOR_BACKUPS = "backup" satisfies Purpose;

/** Spec: API › API tokens. The restrictions are ours: Design §7.2, §13. */
export const CreateToken = v.object({
	name: v.pipe(RequiredPlainText, atMost(255, "name")),
	scopes: Scopes,
	realm: v.nullish(v.pipe(Text, v.nonEmpty(errorMessage("validation_failed", "realm must be a slug")))),
	environment: v.nullish(Environment),
	engines: v.nullish(Engines),
	expires_at: v.nullish(instantOf("expires_at")),
	purpose: v.nullish(v.picklist([FOR_BACKUPS], errorMessage("validation_failed", "purpose must be backup"))),
});

/**
 * Stands in the log for the name and prefix by which people know a token, and revoke it: no MAC covers them, and a name that another program gave to another
 * token would let the one that was meant live on.
 */
export function tokenLabel({ name, prefix }: { name: string; prefix: string }): string {
	return hash("sha256", JSON.stringify([name, prefix])).slice(0, 32);
}

export interface ApiToken {
	id: string;
	user_id: string;
	name: string;
	prefix: string;
	/** SHA-256 of the token. */
	digest: Buffer;
	/** Comma-separated, in the order of SCOPES; for a token for backups `backup`. */
	scopes: string;
	realm_id: string | null;
	environment: string | null;
	/** JSON: roles of engines, as in Actor. */
	engines: string | null;
	/** The token that made it. */
	maker_id: string | null;
	/** ISO 8601 UTC. */
	expires_at: string | null;
	last_used_at: string | null;
	created_at: string;
}

/** A token with its account or machine, as a request needs it. */
export interface TokenOwner {
	id: string;
	user_id: string;
	email: string;
	name: string;
	instance_admin: boolean;
	scopes: string;
	realm_id: string | null;
	environment: string | null;
	engines: string | null;
	expires_at: string | null;
	/** Set for a token of a machine. */
	machine: MachineCaller | undefined;
	/** The account itself; for a machine, see machines/decide.ts. */
	payer: string;
}

/** Maximum number of an account's API tokens that have not expired, and of expired ones that are kept. Design: §13 */
export const MAX_TOKENS = 1000;

/** Days for which an expired token stays listed. */
export const TOKEN_KEPT_DAYS = 30;

/** A token to be revoked. */
export interface TokenEnd {
	id: string;
	user_id: string;
	/** The token that must be this one or have made it, directly or indirectly. */
	within?: string | undefined;
}

/** Operations of the store on API tokens. */
export const tokenOperations = {
	/** Adds a token, unless its account has too many that have not expired; of too many expired ones the earliest are forgotten. See decide.ts. */
	create: write<(token: ApiToken, event: AuditEvent) => "done" | "limit_reached">({ forgets: [] }),
	/** Finds the token and its account, unless the account is disabled, or its machine, unless the realm is deleted; the caller checks the expiry. */
	owner: read<(digest: Buffer) => TokenOwner | undefined>({ in: "access", by: 1 }),
	byId: read<(id: string) => ApiToken | undefined>(),
	list: read<(user_id: string, after: string, limit: number) => ApiToken[]>(),
	count: read<(user_id: string) => number>(),
	/** Lists the token and those that it made, directly or indirectly. */
	listLineage: scan<(id: string, after: string, limit: number) => ApiToken[]>(),
	countLineage: scan<(id: string) => number>(),
	/** Removes a token of that user and those that it made, directly or indirectly; `none` and `outside` mean that nothing changed. */
	revoke: write<(input: TokenEnd, event: AuditEvent) => "done" | "none" | "outside">(),
	/** Forgets tokens that expired before the instant; readers of a cached one check its end. @returns how many */
	forgetExpired: write<(before: string) => number>({ forgets: [], inBatches: true }),
	/** Notes the last use; not an audited change. */
	used: write<(input: { id: string; at: string }) => void>({ forgets: [] }),
};

/** The store's part for API tokens. */
export type TokenStore = Port<typeof tokenOperations>;
