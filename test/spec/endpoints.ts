import type { KINDS } from "./restrictions.ts";

/** The lowest role that a caller needs: in the realm of the request, or on the server where no realm is involved. */
type Least = "public" | "user" | "viewer" | "member" | "admin" | "instance";

/** The scope that a token needs: every session has all of them, and no API token can have `session`. */
export type Scope = "any" | "read" | "write" | "delete" | "read,write" | "write,delete" | "session";

/** The kind of a route by the reach of limited tokens. */
type Kind = keyof typeof KINDS;

/** The place where a request names its environment, and the environment that it concerns when it names none. */
interface Naming {
	readonly kind: Kind;
	readonly named: "query" | "body";
	readonly usual: "dev" | "prod";
}

/** The largest answer: whole, in KiB; a page of a list, in KiB; made piece by piece while it is sent, of any length; from a file. Design: §13 */
type Largest = number | readonly ["page", kib: number] | "streamed" | "file";

type Row = readonly [
	name: `${"GET" | "POST" | "PUT" | "DELETE"} /${string}`,
	success: 200 | 201 | 302,
	Least,
	Scope,
	Kind | Naming,
	Largest,
];

/** Limit of an answer with a few fields: names take six times their length if they consist of control characters. */
const FEW = 16;

/** Limit of an answer that repeats a request of 1 MiB. */
const AS_REQUEST = 1088;

/** Limit of an engine's answer, including connection details. */
const AS_ENGINE = 1152;

/* Routes that concern one environment, which the request may leave out. */
const IN_BODY: Naming = { kind: "environment", named: "body", usual: "dev" };
const IN_QUERY: Naming = { kind: "environment", named: "query", usual: "dev" };
const IN_QUERY_PROD: Naming = { kind: "environment", named: "query", usual: "prod" };
const IN_LIST: Naming = { kind: "list of an environment", named: "query", usual: "dev" };

/**
 * Every route of the server: status of success, who may call it, with which scope, what a limited token reaches (`restrictions.ts`), its largest
 * answer. Tests of every route take these facts from here. Spec: API › Endpoints. Design: §6, §7.1, §13
 */
const ROWS: readonly Row[] = [
	["GET /api/v1/health", 200, "public", "any", "public", FEW],
	["GET /metrics", 200, "public", "any", "public", 256],
	["GET /api/v1/openapi.json", 200, "public", "any", "public", 256],

	["POST /api/v1/auth/register", 201, "public", "any", "public", FEW],
	["POST /api/v1/auth/login", 200, "public", "any", "public", FEW],
	["POST /api/v1/auth/reset", 200, "public", "any", "public", FEW],
	["POST /api/v1/auth/jwt", 200, "public", "any", "public", FEW],
	["GET /api/v1/auth/providers", 200, "public", "any", "public", FEW],

	["GET /api/v1/auth/oidc/{provider}/login", 302, "public", "any", "public", FEW],
	["GET /api/v1/auth/oidc/{provider}/callback", 200, "public", "any", "public", FEW],
	["GET /api/v1/auth/saml/{provider}/login", 302, "public", "any", "public", FEW],
	["POST /api/v1/auth/saml/{provider}/acs", 200, "public", "any", "public", FEW],
	["GET /api/v1/auth/saml/{provider}/metadata", 200, "public", "any", "public", FEW],
	["POST /api/v1/auth/ldap/{provider}/login", 200, "public", "any", "public", FEW],
	// Not in the specification: browser logins of the command line, and linking an identity to one's own account.
	["POST /api/v1/auth/sso/token", 200, "public", "any", "public", FEW],
	["POST /api/v1/auth/sso/link", 200, "user", "session", "session", FEW],
	["POST /api/v1/auth/ldap/{provider}/link", 200, "user", "session", "session", FEW],
	["GET /api/v1/auth/identities", 200, "user", "session", "session", 64],
	["DELETE /api/v1/auth/identities/{id}", 200, "user", "session", "session", FEW],
	// Not in the specification: for `svc session` and the console.
	["GET /api/v1/auth/sessions", 200, "user", "session", "session", ["page", 96]],
	["DELETE /api/v1/auth/sessions/{id}", 200, "user", "session", "session", FEW],
	// Not in the specification: second factors. Design: §16
	["GET /api/v1/auth/factors", 200, "user", "session", "session", FEW],
	["POST /api/v1/auth/factors", 201, "user", "session", "session", FEW],
	["POST /api/v1/auth/factors/{id}/confirm", 200, "user", "session", "session", FEW],
	["POST /api/v1/auth/recovery-codes", 201, "user", "session", "session", FEW],
	["DELETE /api/v1/auth/factors/{id}", 200, "user", "session", "session", FEW],
	["GET /api/v1/auth/providers/{name}", 200, "instance", "read", "instance", AS_REQUEST],
	["PUT /api/v1/auth/providers/{name}", 200, "instance", "write", "instance", AS_REQUEST],
	["DELETE /api/v1/auth/providers/{name}", 200, "instance", "delete", "instance", FEW],
	["POST /api/v1/auth/providers/{name}/test", 200, "instance", "read", "instance", FEW],

	["GET /api/v1/users", 200, "instance", "read", "instance", ["page", 320]],
	["POST /api/v1/users/{id}/disable", 200, "instance", "write", "instance", FEW],
	["POST /api/v1/users/{id}/enable", 200, "instance", "write", "instance", FEW],

	// Not in the specification: for `svc users show` and `svc revoke`.
	["GET /api/v1/users/{id}", 200, "instance", "read", "instance", 64],
	["PUT /api/v1/users/{id}", 200, "instance", "session", "session", FEW],
	["POST /api/v1/users/{id}/reset", 201, "instance", "session", "session", FEW],
	["DELETE /api/v1/users/{id}/factors", 200, "instance", "session", "session", FEW],
	["PUT /api/v1/users/{id}/limits", 200, "instance", "write", "instance", FEW],
	["GET /api/v1/users/{id}/sessions", 200, "instance", "read", "instance", ["page", 96]],
	["DELETE /api/v1/users/{id}/sessions/{session}", 200, "instance", "delete", "instance", FEW],
	["GET /api/v1/users/{id}/tokens", 200, "instance", "read", "instance", ["page", 320]],
	["DELETE /api/v1/users/{id}/tokens/{token}", 200, "instance", "delete", "instance", FEW],
	["GET /api/v1/users/{id}/made", 200, "instance", "read", "instance", 256],
	["POST /api/v1/revoke", 200, "instance", "delete", "instance", FEW],

	// Not in the specification: for `svc invite`. Design: §15
	["POST /api/v1/invitations", 201, "user", "session", "session", FEW],
	["DELETE /api/v1/invitations/{id}", 200, "user", "session", "session", FEW],
	["GET /api/v1/invitations", 200, "user", "read", "instance", ["page", 416]],

	["POST /api/v1/auth/tokens", 201, "user", "any", "self", FEW],
	["GET /api/v1/auth/tokens", 200, "user", "read", "self", ["page", 320]],
	["DELETE /api/v1/auth/tokens/{id}", 200, "user", "delete", "others of its owner", FEW],

	["POST /api/v1/realms", 201, "user", "write", "instance", FEW],
	["GET /api/v1/realms", 200, "user", "read", "anywhere", ["page", 256]],
	["GET /api/v1/realms/{slug}", 200, "viewer", "read", "realm", FEW],
	["PUT /api/v1/realms/{slug}", 200, "user", "session", "realm", FEW],
	["DELETE /api/v1/realms/{slug}", 200, "admin", "delete", "admins of a realm", FEW],
	["POST /api/v1/realms/{slug}/restore", 200, "user", "write,delete", "instance", FEW],

	["POST /api/v1/realms/{slug}/secrets", 201, "member", "write", IN_BODY, FEW],
	["GET /api/v1/realms/{slug}/secrets", 200, "viewer", "read", IN_LIST, "streamed"],
	["GET /api/v1/realms/{slug}/secrets/{key}", 200, "viewer", "read", IN_QUERY, AS_REQUEST],
	["DELETE /api/v1/realms/{slug}/secrets/{key}", 200, "admin", "delete", IN_QUERY, FEW],
	["GET /api/v1/realms/{slug}/secrets/{key}/versions", 200, "viewer", "read", IN_QUERY, ["page", 160]],
	["POST /api/v1/realms/{slug}/secrets/{key}/rollback", 201, "member", "write", IN_QUERY, FEW],
	["POST /api/v1/realms/{slug}/secrets/{key}/restore", 200, "admin", "write,delete", IN_QUERY, FEW],
	["GET /api/v1/realms/{slug}/diff", 200, "viewer", "read", "realm", "streamed"],
	["POST /api/v1/realms/{slug}/promote", 200, "member", "read,write", "realm", 512],
	["POST /api/v1/encrypt", 200, "user", "any", "encrypt", 384],

	["GET /api/v1/policy/roles", 200, "user", "any", "anywhere", FEW],
	// Not in the specification: for `svc policy explain`.
	["GET /api/v1/policy/explain", 200, "viewer", "any", "realm", FEW],
	["POST /api/v1/realms/{slug}/policy/bindings", 201, "admin", "write", "admins of a realm", FEW],
	["GET /api/v1/realms/{slug}/policy/bindings", 200, "viewer", "read", "realm", ["page", 320]],
	["PUT /api/v1/realms/{slug}/policy/bindings/{userID}", 200, "admin", "write,delete", "admins of a realm", FEW],
	["DELETE /api/v1/realms/{slug}/policy/bindings/{userID}", 200, "admin", "delete", "admins of a realm", FEW],
	// Not in the specification: for people whom others bound.
	["POST /api/v1/realms/{slug}/leave", 200, "user", "session", "realm", FEW],

	// Not in the specification: machine accounts. Design: §15
	["PUT /api/v1/realms/{slug}/machines/{name}", 200, "admin", "session", "realm", FEW],
	["GET /api/v1/realms/{slug}/machines", 200, "admin", "read", "realm", ["page", 416]],
	["GET /api/v1/realms/{slug}/machines/{name}", 200, "admin", "read", "realm", FEW],
	["DELETE /api/v1/realms/{slug}/machines/{name}", 200, "admin", "session", "realm", FEW],
	["POST /api/v1/realms/{slug}/machines/{name}/tokens", 201, "admin", "session", "realm", FEW],
	["GET /api/v1/realms/{slug}/machines/{name}/tokens", 200, "admin", "read", "realm", ["page", 320]],
	["DELETE /api/v1/realms/{slug}/machines/{name}/tokens/{id}", 200, "admin", "session", "realm", FEW],
	["PUT /api/v1/realms/{slug}/machines/{name}/trusts/{trust}", 200, "admin", "session", "realm", 128],
	["GET /api/v1/realms/{slug}/machines/{name}/trusts", 200, "admin", "read", "realm", ["page", 192]],
	["GET /api/v1/realms/{slug}/machines/{name}/trusts/{trust}", 200, "admin", "read", "realm", 128],
	["DELETE /api/v1/realms/{slug}/machines/{name}/trusts/{trust}", 200, "admin", "session", "realm", FEW],

	["GET /api/v1/engines", 200, "user", "any", "anywhere", 256],
	["POST /api/v1/realms/{slug}/engines/{type}/generate", 200, "viewer", "read", "engine", AS_ENGINE],
	["POST /api/v1/realms/{slug}/engines/{type}/validate", 200, "viewer", "read", "engine", AS_ENGINE],
	["POST /api/v1/engines/{type}/ping", 200, "instance", "read", "instance", AS_ENGINE],
	["GET /api/v1/engines/{type}/config", 200, "instance", "read", "instance", AS_REQUEST],
	["PUT /api/v1/engines/{type}/config", 200, "instance", "write", "instance", AS_REQUEST],
	["DELETE /api/v1/engines/{type}/config", 200, "instance", "delete", "instance", FEW],
	["GET /api/v1/realms/{slug}/engines/{type}/config", 200, "instance", "read", "instance", AS_REQUEST],
	["PUT /api/v1/realms/{slug}/engines/{type}/config", 200, "instance", "write", "instance", AS_REQUEST],
	["DELETE /api/v1/realms/{slug}/engines/{type}/config", 200, "instance", "delete", "instance", FEW],

	["GET /api/v1/realms/{slug}/leases", 200, "viewer", "read", "realm", ["page", 128]],
	["GET /api/v1/realms/{slug}/leases/{id}", 200, "viewer", "read", "realm", FEW],
	["DELETE /api/v1/realms/{slug}/leases/{id}", 200, "admin", "delete", "realm", FEW],
	["GET /api/v1/leases", 200, "instance", "read", "instance", ["page", 128]],
	["POST /api/v1/leases/revoke", 200, "instance", "delete", "instance", FEW],
	["POST /api/v1/leases/{id}/abandon", 200, "instance", "delete", "instance", FEW],
	["POST /api/v1/leases/resume", 200, "instance", "write", "instance", FEW],

	["GET /api/v1/eso/{realm}/{key}", 200, "viewer", "read", IN_QUERY_PROD, AS_REQUEST],
	["GET /api/v1/eso/{realm}", 200, "viewer", "read", IN_QUERY_PROD, "streamed"],

	["GET /api/v1/audit/events", 200, "user", "read", "anywhere", ["page", 448]],
	// Not in the specification: for `svc audit verify` and `svc audit export`.
	["GET /api/v1/audit/verify", 200, "instance", "read", "instance", FEW],
	["GET /api/v1/realms/{slug}/audit/keys/{keys}", 200, "viewer", "read", "realm", 128],
	["GET /api/v1/audit/export", 200, "user", "read", "anywhere", ["page", 320]],
	// Also in neither: for `svc backup`.
	["POST /api/v1/backups", 201, "instance", "write", "backups", FEW],
	["GET /api/v1/backups", 200, "instance", "read", "backups", FEW],
	["GET /api/v1/backups/{name}", 200, "instance", "read", "backups", "file"],
	// Not in the specification: for `svc doctor`, `svc nodes` and `svc keys`.
	["GET /api/v1/doctor", 200, "instance", "read", "instance", 64],
	["GET /api/v1/nodes", 200, "instance", "read", "instance", 320],
	["GET /api/v1/keys", 200, "instance", "read", "instance", FEW],
	["POST /api/v1/keys/rotate", 200, "instance", "write", "instance", FEW],

	// Last, because they end the session that the others need.
	["POST /api/v1/auth/password", 200, "user", "session", "session", FEW],
	["GET /api/v1/auth/whoami", 200, "user", "any", "self", FEW],
	["POST /api/v1/auth/logout", 200, "user", "session", "session", FEW],
];

/** The permitted callers, as the specification names them: everybody, any valid token, an admin of the realm, or the instance admin. */
export type Auth = "none" | "token" | "admin" | "instance";

/** A route of the server. */
export interface Endpoint {
	/** Method and path. */
	readonly name: string;
	readonly method: string;
	/** Path from the root of the server, with parameters in braces. */
	readonly path: string;
	/** Status of a successful answer. */
	readonly success: number;
	readonly auth: Auth;
	readonly least: Least;
	readonly scope: Scope;
	readonly kind: Kind;
	/** The place of the environment in a request that may name one. */
	readonly named: "query" | "body" | undefined;
	/** The environment of a request that names none. */
	readonly usual: "dev" | "prod";
	readonly form: "whole" | "page" | "streamed" | "file";
	/** Limit of the answer; 0 for an answer of any length. */
	readonly kib: number;
}

/** Every endpoint of the running server. */
export const ENDPOINTS: readonly Endpoint[] = ROWS.map(([name, success, least, scope, reach, largest]) => {
	const [method = "", path = ""] = name.split(" ");
	const { kind, named, usual } =
		typeof reach === "object" ? reach : { kind: reach, named: undefined, usual: "dev" as const };
	return {
		name,
		method,
		path,
		success,
		auth: authOf(least, kind),
		least,
		scope,
		kind,
		named,
		usual,
		...formOf(largest),
	};
});

function authOf(least: Least, kind: Kind): Auth {
	if (least === "public") return "none";
	if (least === "instance") return "instance";
	return kind === "admins of a realm" ? "admin" : "token";
}

function formOf(largest: Largest): Pick<Endpoint, "form" | "kib"> {
	if (typeof largest === "number") return { form: "whole", kib: largest };
	return typeof largest === "string" ? { form: largest, kib: 0 } : { form: largest[0], kib: largest[1] };
}

/** Returns method and path with the names of the parameters left out, to compare two descriptions of one route. */
export function routeName({ method, path }: Pick<Endpoint, "path"> & { readonly method: string }): string {
	return `${method.toUpperCase()} ${path.replaceAll(/\{[^}]*\}/g, "{}")}`;
}
