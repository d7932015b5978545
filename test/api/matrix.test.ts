import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { openApi, routesOf } from "../harness/openapi.ts";
import { REQUESTS } from "../harness/requests.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { CREDENTIALS, type Credential, createWorld, PERSONAS, type Persona, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, type Endpoint, routeName } from "../spec/endpoints.ts";

/** The lowest role that a caller needs: in the realm of the request, or on the server where no realm is involved. */
type Least = "public" | "user" | "viewer" | "member" | "admin" | "instance";
/** The scope that a token must carry: every session has all of them, and no API token can have `session`. */
type Scope = "any" | "read" | "write" | "delete" | "read,write" | "session";
/** Endpoint, lowest role, scope, and the status that hides the realm from outsiders. */
type Rule = readonly [endpoint: string, Least, Scope, outsiders?: 403 | 404];

/** Design: §6, §7.2. */
const RULES: readonly Rule[] = [
	["GET /api/v1/health", "public", "any"],
	["GET /metrics", "public", "any"],
	["GET /api/v1/openapi.json", "public", "any"],
	["POST /api/v1/auth/register", "public", "any"],
	["POST /api/v1/auth/login", "public", "any"],
	["GET /api/v1/auth/providers", "public", "any"],
	["GET /api/v1/auth/oidc/{provider}/login", "public", "any"],
	["GET /api/v1/auth/oidc/{provider}/callback", "public", "any"],
	["GET /api/v1/auth/saml/{provider}/login", "public", "any"],
	["POST /api/v1/auth/saml/{provider}/acs", "public", "any"],
	["GET /api/v1/auth/saml/{provider}/metadata", "public", "any"],
	["POST /api/v1/auth/ldap/{provider}/login", "public", "any"],
	["POST /api/v1/auth/ldap/{provider}/link", "user", "session"],
	["POST /api/v1/auth/sso/token", "public", "any"],
	["POST /api/v1/auth/sso/link", "user", "session"],
	["GET /api/v1/auth/identities", "user", "session"],
	["DELETE /api/v1/auth/identities/{id}", "user", "session"],
	["GET /api/v1/auth/providers/{name}", "instance", "read"],
	["PUT /api/v1/auth/providers/{name}", "instance", "write"],
	["DELETE /api/v1/auth/providers/{name}", "instance", "delete"],
	["POST /api/v1/auth/providers/{name}/test", "instance", "read"],
	["GET /api/v1/users", "instance", "read"],
	["POST /api/v1/users/{id}/disable", "instance", "write"],
	["POST /api/v1/users/{id}/enable", "instance", "write"],
	["GET /api/v1/users/{id}", "instance", "read"],
	["PUT /api/v1/users/{id}/limits", "instance", "write"],
	["POST /api/v1/revoke", "instance", "delete"],
	["POST /api/v1/auth/tokens", "user", "any"],
	["GET /api/v1/auth/tokens", "user", "read"],
	["DELETE /api/v1/auth/tokens/{id}", "user", "delete"],
	["POST /api/v1/realms", "user", "write"],
	["GET /api/v1/realms", "user", "read"],
	["GET /api/v1/realms/{slug}", "viewer", "read", 404],
	["DELETE /api/v1/realms/{slug}", "admin", "delete", 403],
	["POST /api/v1/realms/{slug}/secrets", "member", "write", 404],
	["GET /api/v1/realms/{slug}/secrets", "viewer", "read", 404],
	["GET /api/v1/realms/{slug}/secrets/{key}", "viewer", "read", 404],
	["DELETE /api/v1/realms/{slug}/secrets/{key}", "admin", "delete", 404],
	["GET /api/v1/realms/{slug}/secrets/{key}/versions", "viewer", "read", 404],
	["POST /api/v1/realms/{slug}/secrets/{key}/rollback", "member", "write", 404],
	["GET /api/v1/realms/{slug}/diff", "viewer", "read", 404],
	["POST /api/v1/realms/{slug}/promote", "member", "read,write", 404],
	["POST /api/v1/encrypt", "user", "any"],
	["GET /api/v1/policy/roles", "user", "any"],
	["GET /api/v1/policy/explain", "viewer", "any", 404],
	["POST /api/v1/realms/{slug}/policy/bindings", "admin", "write", 403],
	["GET /api/v1/realms/{slug}/policy/bindings", "viewer", "read", 404],
	["DELETE /api/v1/realms/{slug}/policy/bindings/{userID}", "admin", "delete", 403],
	["GET /api/v1/engines", "user", "any"],
	["POST /api/v1/realms/{slug}/engines/{type}/generate", "viewer", "read", 404],
	["POST /api/v1/realms/{slug}/engines/{type}/validate", "viewer", "read", 404],
	["POST /api/v1/engines/{type}/ping", "instance", "read"],
	["GET /api/v1/engines/{type}/config", "instance", "read"],
	["PUT /api/v1/engines/{type}/config", "instance", "write"],
	["DELETE /api/v1/engines/{type}/config", "instance", "delete"],
	["GET /api/v1/realms/{slug}/engines/{type}/config", "instance", "read"],
	["PUT /api/v1/realms/{slug}/engines/{type}/config", "instance", "write"],
	["DELETE /api/v1/realms/{slug}/engines/{type}/config", "instance", "delete"],
	["GET /api/v1/realms/{slug}/leases", "viewer", "read", 404],
	["GET /api/v1/realms/{slug}/leases/{id}", "viewer", "read", 404],
	["DELETE /api/v1/realms/{slug}/leases/{id}", "admin", "delete", 404],
	["GET /api/v1/leases", "instance", "read"],
	["POST /api/v1/leases/revoke", "instance", "delete"],
	["POST /api/v1/leases/{id}/abandon", "instance", "delete"],
	["POST /api/v1/leases/resume", "instance", "write"],
	["GET /api/v1/eso/{realm}/{key}", "viewer", "read", 404],
	["GET /api/v1/eso/{realm}", "viewer", "read", 404],
	["GET /api/v1/audit/events", "user", "read"],
	["GET /api/v1/audit/verify", "instance", "read"],
	["GET /api/v1/audit/export", "user", "read"],
	["POST /api/v1/backups", "instance", "write"],
	["GET /api/v1/backups", "instance", "read"],
	["GET /api/v1/backups/{name}", "instance", "read"],
	["GET /api/v1/doctor", "instance", "read"],
	["GET /api/v1/keys", "instance", "read"],
	["POST /api/v1/keys/rotate", "instance", "write"],
	["POST /api/v1/auth/password", "user", "session"],
	// Comes last: it ends the sessions that the others need.
	["POST /api/v1/auth/logout", "user", "session"],
];

const RANK: Readonly<Record<Persona, number>> = { instance: 0, stranger: 0, viewer: 1, member: 2, admin: 3, owner: 3 };
const LEAST_RANK = { viewer: 1, member: 2, admin: 3 } as const;

interface Expected {
	readonly status: number;
	/** Undefined where several codes are right. */
	readonly code?: string;
}

let engines: MemoEngines;
let server: Server;
let world: World;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder, SVC_LIMITS_REALMS_PER_ACCOUNT: "1000" } });
	world = await createWorld(api(server));
});
after(async () => {
	await server.close();
	await engines.remove();
});

function expected(
	[, least, scope, outsiders]: Rule,
	persona: Persona,
	credential: Credential,
	success: number,
): Expected {
	const hasScope = credential === "session" || scope === "any" || scope === credential;
	if (least === "public") return { status: success };
	if (least === "instance" && persona !== "instance") {
		return hasScope ? { status: 403, code: "forbidden" } : { status: 403 };
	}
	if (least in LEAST_RANK) {
		const rank = RANK[persona];
		if (rank === 0) return outsiders === 404 ? { status: 404 } : { status: 403 };
		if (rank < LEAST_RANK[least as keyof typeof LEAST_RANK]) {
			return hasScope ? { status: 403, code: "forbidden" } : { status: 403 };
		}
	}
	if (hasScope) return { status: success };
	return scope === "session"
		? { status: 400, code: "unsupported_operation" }
		: { status: 403, code: "insufficient_scope" };
}

async function attempt(endpoint: Endpoint, persona?: Persona, credential: Credential = "session"): Promise<Answer> {
	const prepare = REQUESTS[`${endpoint.method} ${endpoint.path}`];
	assert.ok(prepare, "the route has a request");
	const person = persona && world.people[persona];
	const scopes = credential === "session" ? "read" : credential;
	const { path, body } = await prepare(world, { person, scopes });
	const token = persona && world.tokens[persona][credential];
	return world.api.send(endpoint.method, path, { token, ...(body && { raw: JSON.stringify(body) }) });
}

/** Returns no line for the expected answer, else one with the difference. */
function difference(who: string, answer: Answer, { status, code }: Expected): string[] {
	const got = (answer.body as Partial<ErrorBody> | undefined)?.error?.code;
	if (answer.status !== status)
		return [`${who}: expected ${status}, got ${answer.status} ${answer.text.slice(0, 120)}`];
	return code === undefined || code === got ? [] : [`${who}: expected the code ${code}, got ${String(got)}`];
}

for (const rule of RULES) {
	const [name, least] = rule;
	test(`${name}: every role and every scope is answered as the rules say`, async () => {
		const endpoint = ENDPOINTS.find((one) => `${one.method} ${one.path}` === name);
		assert.ok(endpoint, "the route is in the endpoint table");
		const success = WITHOUT_PROVIDER[name] ?? endpoint.success;
		const nobody = least === "public" ? { status: success } : { status: 401, code: "unauthorized" };
		// Public routes ignore tokens, and two of them cost a password hash: one kind of token proves as much as four.
		const credentials = least === "public" ? (["session"] as const) : CREDENTIALS;
		const cells = PERSONAS.flatMap((persona) => credentials.map((credential) => ({ persona, credential })));
		const attempts = [
			async () => difference("anonymous", await attempt(endpoint), nobody),
			...cells.map(({ persona, credential }) => async () => {
				const answer = await attempt(endpoint, persona, credential);
				const right = expected(rule, persona, credential, success);
				return difference(`${persona}/${credential}`, answer, right);
			}),
		];
		const differences: unknown[] = [];
		// One at a time where a password may be checked: only four checks of one source may wait.
		if (least === "public") for (const one of attempts) differences.push(await one());
		else differences.push(...(await Promise.all(attempts.map((one) => one()))));
		assert.deepEqual(differences.flat(), []);
	});
}

test("every route of the server has its row in the rules and its request", async () => {
	const routes = routesOf(await openApi(world.api)).map(routeName);
	const rules = RULES.map(([name]) => name.replaceAll(/\{[^}]*\}/g, "{}"));
	assert.deepEqual(new Set(rules), new Set(routes));
	assert.deepEqual(new Set(Object.keys(REQUESTS)), new Set(RULES.map(([name]) => name)));
});
