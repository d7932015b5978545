/** The form of an answer: whole; whole, as a page of a list; made piece by piece while it is sent, of any length; from a file. Design: §13 */
type Form = "whole" | "page" | "streamed" | "file";

/** A route, the form of its answer, and its largest answer in KiB, except for answers made piece by piece. */
export type AnswerRow = readonly [name: string, form: Form, kib: number];

/** Limit of an answer with a few fields: names take six times their length if they consist of control characters. */
const FEW = 16;

/** Limit of an answer that repeats a request of 1 MiB. */
const AS_REQUEST = 1088;

/** Limit of an engine's answer, including connection details. */
const AS_ENGINE = 1152;

const V1 = "/api/v1";

/** Every route of the endpoint table. Only streamed answers and files may be longer than a request or an engine's answer. */
export const ANSWERS: readonly AnswerRow[] = [
	[`GET ${V1}/health`, "whole", FEW],
	["GET /metrics", "whole", 256],
	[`GET ${V1}/openapi.json`, "whole", 256],

	[`POST ${V1}/auth/register`, "whole", FEW],
	[`POST ${V1}/auth/login`, "whole", FEW],
	[`GET ${V1}/auth/providers`, "whole", FEW],
	[`POST ${V1}/auth/logout`, "whole", FEW],
	[`POST ${V1}/auth/password`, "whole", FEW],
	[`GET ${V1}/auth/oidc/{provider}/login`, "whole", FEW],
	[`GET ${V1}/auth/oidc/{provider}/callback`, "whole", FEW],
	[`GET ${V1}/auth/saml/{provider}/login`, "whole", FEW],
	[`POST ${V1}/auth/saml/{provider}/acs`, "whole", FEW],
	[`GET ${V1}/auth/saml/{provider}/metadata`, "whole", FEW],
	[`POST ${V1}/auth/ldap/{provider}/login`, "whole", FEW],
	[`POST ${V1}/auth/sso/token`, "whole", FEW],
	[`POST ${V1}/auth/sso/link`, "whole", FEW],
	[`POST ${V1}/auth/ldap/{provider}/link`, "whole", FEW],
	[`GET ${V1}/auth/identities`, "whole", 64],
	[`DELETE ${V1}/auth/identities/{id}`, "whole", FEW],
	[`GET ${V1}/auth/providers/{name}`, "whole", AS_REQUEST],
	[`PUT ${V1}/auth/providers/{name}`, "whole", AS_REQUEST],
	[`DELETE ${V1}/auth/providers/{name}`, "whole", FEW],
	[`POST ${V1}/auth/providers/{name}/test`, "whole", FEW],

	[`GET ${V1}/users`, "page", 320],
	[`POST ${V1}/users/{id}/disable`, "whole", FEW],
	[`POST ${V1}/users/{id}/enable`, "whole", FEW],
	[`GET ${V1}/users/{id}`, "whole", 64],
	[`PUT ${V1}/users/{id}/limits`, "whole", FEW],
	[`POST ${V1}/revoke`, "whole", FEW],

	[`POST ${V1}/auth/tokens`, "whole", FEW],
	[`GET ${V1}/auth/tokens`, "page", 320],
	[`DELETE ${V1}/auth/tokens/{id}`, "whole", FEW],

	[`POST ${V1}/realms`, "whole", FEW],
	[`GET ${V1}/realms`, "page", 192],
	[`GET ${V1}/realms/{slug}`, "whole", FEW],
	[`DELETE ${V1}/realms/{slug}`, "whole", FEW],

	[`POST ${V1}/realms/{slug}/secrets`, "whole", FEW],
	[`GET ${V1}/realms/{slug}/secrets`, "streamed", 0],
	[`GET ${V1}/realms/{slug}/secrets/{key}`, "whole", AS_REQUEST],
	[`DELETE ${V1}/realms/{slug}/secrets/{key}`, "whole", FEW],
	[`GET ${V1}/realms/{slug}/secrets/{key}/versions`, "page", 160],
	[`POST ${V1}/realms/{slug}/secrets/{key}/rollback`, "whole", FEW],
	[`GET ${V1}/realms/{slug}/diff`, "streamed", 0],
	[`POST ${V1}/realms/{slug}/promote`, "whole", 512],
	[`POST ${V1}/encrypt`, "whole", 384],

	[`GET ${V1}/policy/roles`, "whole", FEW],
	[`GET ${V1}/policy/explain`, "whole", FEW],
	[`POST ${V1}/realms/{slug}/policy/bindings`, "whole", FEW],
	[`GET ${V1}/realms/{slug}/policy/bindings`, "page", 32],
	[`DELETE ${V1}/realms/{slug}/policy/bindings/{userID}`, "whole", FEW],

	[`GET ${V1}/engines`, "whole", 256],
	[`POST ${V1}/realms/{slug}/engines/{type}/generate`, "whole", AS_ENGINE],
	[`POST ${V1}/realms/{slug}/engines/{type}/validate`, "whole", AS_ENGINE],
	[`POST ${V1}/engines/{type}/ping`, "whole", AS_ENGINE],
	[`GET ${V1}/engines/{type}/config`, "whole", AS_REQUEST],
	[`PUT ${V1}/engines/{type}/config`, "whole", AS_REQUEST],
	[`DELETE ${V1}/engines/{type}/config`, "whole", FEW],
	[`GET ${V1}/realms/{slug}/engines/{type}/config`, "whole", AS_REQUEST],
	[`PUT ${V1}/realms/{slug}/engines/{type}/config`, "whole", AS_REQUEST],
	[`DELETE ${V1}/realms/{slug}/engines/{type}/config`, "whole", FEW],

	[`GET ${V1}/realms/{slug}/leases`, "page", 128],
	[`GET ${V1}/realms/{slug}/leases/{id}`, "whole", FEW],
	[`DELETE ${V1}/realms/{slug}/leases/{id}`, "whole", FEW],
	[`GET ${V1}/leases`, "page", 128],
	[`POST ${V1}/leases/revoke`, "whole", FEW],
	[`POST ${V1}/leases/{id}/abandon`, "whole", FEW],
	[`POST ${V1}/leases/resume`, "whole", FEW],

	[`GET ${V1}/eso/{realm}/{key}`, "whole", AS_REQUEST],
	[`GET ${V1}/eso/{realm}`, "streamed", 0],

	[`GET ${V1}/audit/events`, "page", 256],
	[`GET ${V1}/audit/verify`, "whole", FEW],
	[`GET ${V1}/audit/export`, "page", 320],
	[`POST ${V1}/backups`, "whole", FEW],
	[`GET ${V1}/backups`, "whole", FEW],
	[`GET ${V1}/backups/{name}`, "file", 0],
	[`GET ${V1}/doctor`, "whole", 64],
	[`GET ${V1}/keys`, "whole", FEW],
	[`POST ${V1}/keys/rotate`, "whole", FEW],
];
