/** The permitted callers: everybody, any valid token, an admin of the realm, or the instance admin. Spec: API › Endpoints. */
export type Auth = "none" | "token" | "admin" | "instance";

/** One row of the specification's endpoint tables, or of Design §7.1. */
export interface Endpoint {
	readonly method: "GET" | "POST" | "PUT" | "DELETE";
	/** Path from the root of the server, with parameters in braces. */
	readonly path: string;
	readonly auth: Auth;
	/** Status of a successful answer. */
	readonly success: 200 | 201 | 302;
}

type Row = readonly [Endpoint["method"], path: string, Auth, Endpoint["success"]];

const ROWS: readonly Row[] = [
	["GET", "/api/v1/health", "none", 200],
	["GET", "/metrics", "none", 200],
	["GET", "/api/v1/openapi.json", "none", 200],

	["POST", "/api/v1/auth/register", "none", 201],
	["POST", "/api/v1/auth/login", "none", 200],
	["GET", "/api/v1/auth/providers", "none", 200],
	["POST", "/api/v1/auth/logout", "token", 200],
	["POST", "/api/v1/auth/password", "token", 200],

	["GET", "/api/v1/auth/oidc/{provider}/login", "none", 302],
	["GET", "/api/v1/auth/oidc/{provider}/callback", "none", 200],
	["GET", "/api/v1/auth/saml/{provider}/login", "none", 302],
	["POST", "/api/v1/auth/saml/{provider}/acs", "none", 200],
	["GET", "/api/v1/auth/saml/{provider}/metadata", "none", 200],
	["POST", "/api/v1/auth/ldap/{provider}/login", "none", 200],
	// In neither document: browser logins of the command line, and linking an identity to one's own account.
	["POST", "/api/v1/auth/sso/token", "none", 200],
	["POST", "/api/v1/auth/sso/link", "token", 200],
	["POST", "/api/v1/auth/ldap/{provider}/link", "token", 200],
	["GET", "/api/v1/auth/identities", "token", 200],
	["DELETE", "/api/v1/auth/identities/{id}", "token", 200],
	["GET", "/api/v1/auth/providers/{name}", "instance", 200],
	["PUT", "/api/v1/auth/providers/{name}", "instance", 200],
	["DELETE", "/api/v1/auth/providers/{name}", "instance", 200],
	["POST", "/api/v1/auth/providers/{name}/test", "instance", 200],

	["GET", "/api/v1/users", "instance", 200],
	["POST", "/api/v1/users/{id}/disable", "instance", 200],
	["POST", "/api/v1/users/{id}/enable", "instance", 200],

	// In neither document: for `svc users show` and `svc revoke`.
	["GET", "/api/v1/users/{id}", "instance", 200],
	["PUT", "/api/v1/users/{id}/limits", "instance", 200],
	["POST", "/api/v1/revoke", "instance", 200],

	["POST", "/api/v1/auth/tokens", "token", 201],
	["GET", "/api/v1/auth/tokens", "token", 200],
	["DELETE", "/api/v1/auth/tokens/{id}", "token", 200],

	["POST", "/api/v1/realms", "token", 201],
	["GET", "/api/v1/realms", "token", 200],
	["GET", "/api/v1/realms/{slug}", "token", 200],
	["DELETE", "/api/v1/realms/{slug}", "admin", 200],

	["POST", "/api/v1/realms/{slug}/secrets", "token", 201],
	["GET", "/api/v1/realms/{slug}/secrets", "token", 200],
	["GET", "/api/v1/realms/{slug}/secrets/{key}", "token", 200],
	["DELETE", "/api/v1/realms/{slug}/secrets/{key}", "token", 200],
	["GET", "/api/v1/realms/{slug}/secrets/{key}/versions", "token", 200],
	["POST", "/api/v1/realms/{slug}/secrets/{key}/rollback", "token", 201],
	["GET", "/api/v1/realms/{slug}/diff", "token", 200],
	["POST", "/api/v1/realms/{slug}/promote", "token", 200],
	["POST", "/api/v1/encrypt", "token", 200],

	["GET", "/api/v1/policy/roles", "token", 200],
	// In neither document: for `svc policy explain`.
	["GET", "/api/v1/policy/explain", "token", 200],
	["POST", "/api/v1/realms/{slug}/policy/bindings", "admin", 201],
	["GET", "/api/v1/realms/{slug}/policy/bindings", "token", 200],
	["DELETE", "/api/v1/realms/{slug}/policy/bindings/{userID}", "admin", 200],

	["GET", "/api/v1/engines", "token", 200],
	["POST", "/api/v1/realms/{slug}/engines/{type}/generate", "token", 200],
	["POST", "/api/v1/realms/{slug}/engines/{type}/validate", "token", 200],
	["POST", "/api/v1/engines/{type}/ping", "instance", 200],
	["GET", "/api/v1/engines/{type}/config", "instance", 200],
	["PUT", "/api/v1/engines/{type}/config", "instance", 200],
	["DELETE", "/api/v1/engines/{type}/config", "instance", 200],
	["GET", "/api/v1/realms/{slug}/engines/{type}/config", "instance", 200],
	["PUT", "/api/v1/realms/{slug}/engines/{type}/config", "instance", 200],
	["DELETE", "/api/v1/realms/{slug}/engines/{type}/config", "instance", 200],

	["GET", "/api/v1/realms/{slug}/leases", "token", 200],
	["GET", "/api/v1/realms/{slug}/leases/{id}", "token", 200],
	["DELETE", "/api/v1/realms/{slug}/leases/{id}", "token", 200],
	["GET", "/api/v1/leases", "instance", 200],
	["POST", "/api/v1/leases/revoke", "instance", 200],
	["POST", "/api/v1/leases/{id}/abandon", "instance", 200],
	["POST", "/api/v1/leases/resume", "instance", 200],

	["GET", "/api/v1/eso/{realm}/{key}", "token", 200],
	["GET", "/api/v1/eso/{realm}", "token", 200],

	["GET", "/api/v1/audit/events", "token", 200],
	// In neither document: for `svc audit verify` and `svc audit export`.
	["GET", "/api/v1/audit/verify", "instance", 200],
	["GET", "/api/v1/audit/export", "token", 200],
	// Also in neither: for `svc backup`.
	["POST", "/api/v1/backups", "instance", 201],
	["GET", "/api/v1/backups", "instance", 200],
	["GET", "/api/v1/backups/{name}", "instance", 200],
	// In neither document: for `svc doctor` and `svc keys`.
	["GET", "/api/v1/doctor", "instance", 200],
	["GET", "/api/v1/keys", "instance", 200],
	["POST", "/api/v1/keys/rotate", "instance", 200],
];

/** Every endpoint of the running server. */
export const ENDPOINTS: readonly Endpoint[] = ROWS.map(([method, path, auth, success]) => ({
	method,
	path,
	auth,
	success,
}));

/** Returns method and path with the names of the parameters left out, to compare two descriptions of one route. */
export function routeName({ method, path }: Pick<Endpoint, "path"> & { readonly method: string }): string {
	return `${method.toUpperCase()} ${path.replaceAll(/\{[^}]*\}/g, "{}")}`;
}
