/**
 * Routes that machines may call, within their role and limits. Every other route that needs a token is for people: a machine gets 403 forbidden,
 * whatever its role. `own` is for what the machine itself has made. Design: §15
 */
export const FOR_MACHINES: Readonly<Record<string, "ok" | "own">> = {
	"GET /api/v1/auth/whoami": "ok",
	"GET /api/v1/realms": "ok",
	"GET /api/v1/realms/{slug}": "ok",
	"POST /api/v1/realms/{slug}/secrets": "ok",
	"GET /api/v1/realms/{slug}/secrets": "ok",
	"GET /api/v1/realms/{slug}/secrets/{key}": "ok",
	"DELETE /api/v1/realms/{slug}/secrets/{key}": "ok",
	"GET /api/v1/realms/{slug}/secrets/{key}/versions": "ok",
	"POST /api/v1/realms/{slug}/secrets/{key}/rollback": "ok",
	"POST /api/v1/realms/{slug}/secrets/{key}/restore": "ok",
	"GET /api/v1/realms/{slug}/diff": "ok",
	"POST /api/v1/realms/{slug}/promote": "ok",
	"POST /api/v1/encrypt": "ok",
	"GET /api/v1/policy/roles": "ok",
	"GET /api/v1/engines": "ok",
	"POST /api/v1/realms/{slug}/engines/{type}/generate": "ok",
	"POST /api/v1/realms/{slug}/engines/{type}/validate": "ok",
	"GET /api/v1/realms/{slug}/leases": "ok",
	"GET /api/v1/realms/{slug}/leases/{id}": "ok",
	"DELETE /api/v1/realms/{slug}/leases/{id}": "own",
	"GET /api/v1/eso/{realm}/{key}": "ok",
	"GET /api/v1/eso/{realm}": "ok",
};
