/** The limits of an API token; `own` is the realm, the environment or the role that the request concerns. */
export const LIMITS = [
	"its realm",
	"another realm",
	"its environment",
	"another environment",
	"its environment, which the request leaves out",
	"another environment, where the request leaves it out",
	"its environment in another realm",
	"its role of the engine",
	"a role of another engine",
	"its role of the engine in another realm",
	"its environment and its role of the engine",
] as const;

/** One of these limits. */
export type Limit = (typeof LIMITS)[number];

/** `ok` as without limits, `scope` 403 insufficient_scope, `hidden` 404 not_found, `admins` 403 forbidden. */
export type Outcome = "ok" | "scope" | "hidden" | "admins";

/** The scope that a token needs: every session has all of them, and no API token can have `session`. */
export type Needed = "any" | "read" | "write" | "delete" | "read,write" | "session";

/** The reach of a limited token on a kind of route: closed except for the limits named. Design: §13 */
const closed = <Opened extends Partial<Record<Limit, Outcome>>>(opened: Opened): Readonly<Record<Limit, Outcome>> => ({
	"its realm": "scope",
	"another realm": "scope",
	"its environment": "scope",
	"another environment": "scope",
	"its environment, which the request leaves out": "scope",
	"another environment, where the request leaves it out": "scope",
	"its environment in another realm": "scope",
	"its role of the engine": "scope",
	"a role of another engine": "scope",
	"its role of the engine in another realm": "scope",
	"its environment and its role of the engine": "scope",
	...opened,
});

/** Routes in a realm, which is hidden from tokens of another one. */
const IN_REALM = {
	"its realm": "ok",
	"another realm": "hidden",
	"its environment in another realm": "hidden",
	"its role of the engine in another realm": "hidden",
} as const;

const IN_ENVIRONMENT = {
	"its environment": "ok",
	"its environment, which the request leaves out": "ok",
	"its environment and its role of the engine": "ok",
} as const;

const EVERYWHERE = Object.fromEntries(LIMITS.map((limit) => [limit, "ok"] as const)) as Record<Limit, "ok">;

/** Kinds of routes, by the reach of their limited callers. */
export const KINDS = {
	/** Ignores tokens. */
	public: EVERYWHERE,
	/** For signed-in people. */
	session: EVERYWHERE,
	/** A token's actions on itself and on the tokens it made. */
	self: EVERYWHERE,
	/** Manages the instance, or makes something that is not yet part of a realm. */
	instance: closed({}),
	/** Another token of the same owner. */
	"others of its owner": closed({}),
	/** The same for everybody, or the part of it that belongs to the token's realm. */
	anywhere: closed({ "its realm": "ok", "another realm": "ok" }),
	realm: closed(IN_REALM),
	/** For admins only; hides from all others whether the realm exists. */
	"admins of a realm": closed({
		"its realm": "ok",
		"another realm": "admins",
		"its environment in another realm": "admins",
		"its role of the engine in another realm": "admins",
	}),
	environment: closed({ ...IN_REALM, ...IN_ENVIRONMENT }),
	/** Without a named environment, uses the token's. */
	"list of an environment": closed({
		...IN_REALM,
		...IN_ENVIRONMENT,
		"another environment, where the request leaves it out": "ok",
	}),
	engine: closed({ ...IN_REALM, "its role of the engine": "ok", "its environment and its role of the engine": "ok" }),
	encrypt: {
		...EVERYWHERE,
		"its role of the engine": "scope",
		"a role of another engine": "scope",
		"its role of the engine in another realm": "scope",
	},
} as const satisfies Readonly<Record<string, Readonly<Record<Limit, Outcome>>>>;

/** A route, its scope and its kind; for one of an environment also where a request names it, and the default. */
export type Row = readonly [
	route: string,
	Needed,
	kind: keyof typeof KINDS,
	named?: "query" | "body",
	usual?: "dev" | "prod",
];

/** Every route of the server. */
export const ROWS: readonly Row[] = [
	["GET /api/v1/health", "any", "public"],
	["GET /metrics", "any", "public"],
	["GET /api/v1/openapi.json", "any", "public"],
	["POST /api/v1/auth/register", "any", "public"],
	["POST /api/v1/auth/login", "any", "public"],
	["GET /api/v1/auth/providers", "any", "public"],
	["GET /api/v1/auth/oidc/{provider}/login", "any", "public"],
	["GET /api/v1/auth/oidc/{provider}/callback", "any", "public"],
	["GET /api/v1/auth/saml/{provider}/login", "any", "public"],
	["POST /api/v1/auth/saml/{provider}/acs", "any", "public"],
	["GET /api/v1/auth/saml/{provider}/metadata", "any", "public"],
	["POST /api/v1/auth/ldap/{provider}/login", "any", "public"],
	["POST /api/v1/auth/sso/token", "any", "public"],

	["POST /api/v1/auth/ldap/{provider}/link", "session", "session"],
	["GET /api/v1/auth/identities", "session", "session"],
	["DELETE /api/v1/auth/identities/{id}", "session", "session"],
	["POST /api/v1/auth/sso/link", "session", "session"],
	["POST /api/v1/auth/password", "session", "session"],
	["POST /api/v1/auth/logout", "session", "session"],

	["POST /api/v1/auth/tokens", "any", "self"],
	["GET /api/v1/auth/tokens", "read", "self"],
	["DELETE /api/v1/auth/tokens/{id}", "delete", "others of its owner"],

	["GET /api/v1/auth/providers/{name}", "read", "instance"],
	["PUT /api/v1/auth/providers/{name}", "write", "instance"],
	["DELETE /api/v1/auth/providers/{name}", "delete", "instance"],
	["POST /api/v1/auth/providers/{name}/test", "read", "instance"],
	["GET /api/v1/users", "read", "instance"],
	["GET /api/v1/users/{id}", "read", "instance"],
	["POST /api/v1/users/{id}/disable", "write", "instance"],
	["POST /api/v1/users/{id}/enable", "write", "instance"],
	["PUT /api/v1/users/{id}/limits", "write", "instance"],
	["POST /api/v1/revoke", "delete", "instance"],
	["POST /api/v1/realms", "write", "instance"],
	["POST /api/v1/engines/{type}/ping", "read", "instance"],
	["GET /api/v1/engines/{type}/config", "read", "instance"],
	["PUT /api/v1/engines/{type}/config", "write", "instance"],
	["DELETE /api/v1/engines/{type}/config", "delete", "instance"],
	["GET /api/v1/realms/{slug}/engines/{type}/config", "read", "instance"],
	["PUT /api/v1/realms/{slug}/engines/{type}/config", "write", "instance"],
	["DELETE /api/v1/realms/{slug}/engines/{type}/config", "delete", "instance"],
	["GET /api/v1/leases", "read", "instance"],
	["POST /api/v1/leases/revoke", "delete", "instance"],
	["POST /api/v1/leases/{id}/abandon", "delete", "instance"],
	["POST /api/v1/leases/resume", "write", "instance"],
	["GET /api/v1/audit/verify", "read", "instance"],
	["POST /api/v1/backups", "write", "instance"],
	["GET /api/v1/backups", "read", "instance"],
	["GET /api/v1/backups/{name}", "read", "instance"],
	["GET /api/v1/doctor", "read", "instance"],
	["GET /api/v1/keys", "read", "instance"],
	["POST /api/v1/keys/rotate", "write", "instance"],

	["GET /api/v1/realms", "read", "anywhere"],
	["GET /api/v1/policy/roles", "any", "anywhere"],
	["GET /api/v1/engines", "any", "anywhere"],
	["GET /api/v1/audit/events", "read", "anywhere"],
	["GET /api/v1/audit/export", "read", "anywhere"],

	["GET /api/v1/realms/{slug}", "read", "realm"],
	["GET /api/v1/policy/explain", "any", "realm"],
	["GET /api/v1/realms/{slug}/policy/bindings", "read", "realm"],
	["GET /api/v1/realms/{slug}/leases", "read", "realm"],
	["GET /api/v1/realms/{slug}/leases/{id}", "read", "realm"],
	["DELETE /api/v1/realms/{slug}/leases/{id}", "delete", "realm"],
	// These concern two environments.
	["GET /api/v1/realms/{slug}/diff", "read", "realm"],
	["POST /api/v1/realms/{slug}/promote", "read,write", "realm"],
	["DELETE /api/v1/realms/{slug}", "delete", "admins of a realm"],
	["POST /api/v1/realms/{slug}/policy/bindings", "write", "admins of a realm"],
	["DELETE /api/v1/realms/{slug}/policy/bindings/{userID}", "delete", "admins of a realm"],

	["POST /api/v1/realms/{slug}/secrets", "write", "environment", "body", "dev"],
	["GET /api/v1/realms/{slug}/secrets/{key}", "read", "environment", "query", "dev"],
	["DELETE /api/v1/realms/{slug}/secrets/{key}", "delete", "environment", "query", "dev"],
	["GET /api/v1/realms/{slug}/secrets/{key}/versions", "read", "environment", "query", "dev"],
	["POST /api/v1/realms/{slug}/secrets/{key}/rollback", "write", "environment", "query", "dev"],
	["GET /api/v1/eso/{realm}/{key}", "read", "environment", "query", "prod"],
	["GET /api/v1/eso/{realm}", "read", "environment", "query", "prod"],
	["GET /api/v1/realms/{slug}/secrets", "read", "list of an environment", "query"],
	["POST /api/v1/encrypt", "any", "encrypt"],

	["POST /api/v1/realms/{slug}/engines/{type}/generate", "read", "engine"],
	["POST /api/v1/realms/{slug}/engines/{type}/validate", "read", "engine"],
];
