import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { errorMessage, RequiredText } from "../messages.ts";
import { type Port, read, write } from "../operation.ts";

/** Capabilities of each role in a realm. Spec: API › Role capabilities. */
export const ROLES = {
	admin: ["secrets:read", "secrets:write", "secrets:delete", "realms:manage", "policy:manage", "audit:read"],
	member: ["secrets:read", "secrets:write", "audit:read"],
	viewer: ["secrets:read", "audit:read"],
} as const satisfies Record<string, readonly string[]>;

export type Role = keyof typeof ROLES;
export type Capability = (typeof ROLES)["admin"][number];

/** The scopes of a token, in the order in which they are answered. Spec: API › Authentication. */
export const SCOPES = ["read", "write", "delete"] as const;

/** A capability, in a query. */
export const CapabilityName = v.picklist(
	ROLES.admin,
	errorMessage("validation_failed", `capability must be one of ${ROLES.admin.join(", ")}`),
);

export type Scope = (typeof SCOPES)[number];

/** Purpose of a token without scopes: it makes and downloads backups, and reaches no other route. */
export type Purpose = "backup";

/**
 * Scopes that a token needs for a capability. Of several, an action that removes something needs the last one, every other one the first.
 * Design: §6
 */
export const SCOPES_OF: Record<Capability, readonly [Scope, ...Scope[]]> = {
	"secrets:read": ["read"],
	"secrets:write": ["write"],
	"secrets:delete": ["delete"],
	"realms:manage": ["write", "delete"],
	"policy:manage": ["write", "delete"],
	"audit:read": ["read"],
};

/** The part of a caller that is a machine account: it manages nothing. Design: §15 */
export interface MachineCaller {
	/** Its realm's slug and its name: `shop/deploy`. */
	name: string;
	/** Its limits when it was let in: see machines/decide.ts. */
	limits: string;
}

/** The caller: a verified token and the request it came with. */
export interface Actor {
	user_id: string;
	email: string;
	name: string;
	/** Manages accounts, keys and engines, but reads only realms that it is a member of. */
	instance_admin: boolean;
	scopes: readonly Scope[];
	/** Set when the caller is a token that is for this alone; it has no scopes. */
	purpose: Purpose | undefined;
	/** Set when the caller is a machine; its id is in user_id. */
	machine: MachineCaller | undefined;
	/** The account that the caller's work counts toward: its own; for a machine, see machines/decide.ts. Design: §13 */
	payer: string;
	/** Set when an API token was used. */
	token_id: string | undefined;
	/** Set when a session was used. */
	jti: string | undefined;
	/** Unix milliseconds at which the session's owner last showed who they are: at a provider, as far as it says so, or to the console. */
	confirmed_at?: number | undefined;
	/** Restrictions of an API token; null allows everything. */
	realm_id: string | null;
	environment: string | null;
	/** Roles of engines, as `type:role`, or the type alone of an engine without roles. This and environment add up. */
	engines: readonly string[] | null;
	/** End of the token, ISO 8601 UTC; null when it has none. */
	expires_at: string | null;
	request_id: string;
	ip: string;
	/** Grants by which the rules have admitted the caller so far. */
	grants: Grant[];
}

/** A right that a rule found the caller to have: a capability in a realm, or the management of the instance. */
export type Grant = "instance" | RealmGrant;

/** A capability in a realm. */
export interface RealmGrant {
	realm_id: string;
	capability: Capability;
	/** Refuses callers who lack it with 403 instead of hiding the realm. Spec: API › Admin-only operations. */
	isAdminOnly: boolean;
}

/** The maker of a change, and the grants of the decision: they must still hold when the change is made. Design: §13 */
export type Maker = Readonly<Pick<Actor, "user_id" | "jti" | "token_id" | "grants"> & Partial<Pick<Actor, "machine">>>;

export const Role = v.picklist(
	["admin", "member", "viewer"],
	errorMessage("invalid_role", "role must be admin, member or viewer"),
);

/** Spec: API › Policy. The e-mail is ours. */
export const CreateBinding = v.object({
	user_id: v.optional(RequiredText),
	email: v.optional(RequiredText),
	role: Role,
});

/** Another role for a user who has one. Design: §15. */
export const ChangeBinding = v.object({ role: Role });

/** Bindings of one realm. Design: §13 */
export const MAX_BINDINGS = 1000;

/** Realms that one account is bound in: anybody may bind it, and every list of its realms costs more with each. Those deleted but not purged count. */
export const MAX_MEMBERSHIPS = 1000;

export interface Binding {
	id: string;
	realm_id: string;
	user_id: string;
	role: Role;
	granted_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** The outcome of binding a user in a realm. `user_limit_reached`: the user is bound in MAX_MEMBERSHIPS realms. */
export type BindingOutcome =
	| "done"
	| "exists"
	| "owner"
	| "no_user"
	| "realm_gone"
	| "limit_reached"
	| "user_limit_reached";

/** Operations of the store on bindings. */
export const policyOperations = {
	/** Adds the binding, unless realm or user has too many; any answer but `done` means that nothing changed. */
	bind: write<(binding: Binding, event: AuditEvent) => BindingOutcome>(),
	/** Replaces a user's role in a realm; false when the user has none. */
	rebind: write<(input: Pick<Binding, "realm_id" | "user_id" | "role" | "granted_by">, event: AuditEvent) => boolean>(),
	/** Removes the binding; false when there was none. */
	unbind: write<(input: { realm_id: string; user_id: string }, event: AuditEvent) => boolean>(),
	list: read<(realm_id: string, after: string, limit: number) => Binding[]>(),
	count: read<(realm_id: string) => number>(),
};

/** The store's part for bindings. */
export type PolicyStore = Port<typeof policyOperations>;

/** A use of a session. */
export interface SessionUse {
	/** ISO 8601 UTC. */
	at: string;
	/** Source address. */
	ip: string;
	/** Program that used it, as it names itself: at most MAX_AGENT characters. */
	agent: string;
}

/** Characters of a program's name that are kept. */
export const MAX_AGENT = 255;

/** Sessions whose last use is kept. Design: §13 */
export const MAX_SESSION_USES = 20_000;
