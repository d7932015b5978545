import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { CANARIES, TRACE } from "../testing/canaries.ts";
import { costOf } from "../testing/cost.ts";
import { allRoutes } from "../testing/routes.ts";
import { MAX_BODY_BYTES } from "./bodies.ts";
import { check } from "./input.ts";
import { openApiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";

/** A valid value for each field of every body and query. Add new fields here. */
const GOOD: Record<string, unknown> = {
	ready: "true",
	email: "ada@example.com",
	owner: "ada@example.com",
	password: "correct horse battery",
	current_password: "correct horse battery",
	new_password: "correct horse battery",
	factor_code: "123456",
	name: "Ada",
	slug: "payments",
	description: "text",
	key: "DB/URL",
	value: "text",
	environment: "prod",
	env: "prod",
	engines: ["keyvalue:readonly", "totp"],
	instance_admin: true,
	comment: "text",
	expires_at: "2090-01-01T00:00:00Z",
	pre_encrypted: false,
	if_version: 1,
	keep_links: true,
	with_made: true,
	realm_bytes: 128 * 1024 * 1024,
	realms: 500,
	version: 1,
	scopes: "read,write",
	realm: "payments",
	user_id: "01980000-0000-7000-8000-000000000001",
	role: "viewer",
	limit: "10",
	cursor: "cursor",
	include_total: "true",
	type: "secret.set",
	actor: "ada@example.com",
	seq: "1",
	hash: "ab".repeat(32),
	engine: "keyvalue",
	state: "active",
	reason: "text",
	SAMLResponse: "PGE+",
	iss: "https://id.example.com",
	error: "access_denied",
	cli_port: "40000",
	cli_challenge: "c".repeat(43),
	again: "true",
	code: "code",
	verifier: "v".repeat(43),
	confirm: true,
	username: "ada",
	purpose: "record",
	deep: "false",
	values: "false",
	deleted: "true",
	purge: "true",
	id: "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d",
	since: "2030-01-01T00:00:00Z",
	token: "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d",
	names: "true",
	ttl: "30d",
	until: "2090-01-01T00:00:00Z",
	user: "ada@example.com",
	capability: "secrets:read",
	connection: "true",
	if: "healthy",
	setup_code: "code",
	invitation: "code",
	bindings: [{ realm: "payments", role: "viewer" }],
	from: "staging",
	to: "prod",
	secrets: [{ key: "DB_URL", from_version: 1, to_version: null }],
	issuer: "https://id.example.com",
	trust_domain: "prod.example.com",
	audience: "https://svc.example.com",
	claims: { sub: "deploy", protected: true, runner_id: 7 },
	max_ttl: "1h",
	single_use: true,
	jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x: "x" }] },
	ca_cert: "-----BEGIN CERTIFICATE-----",
	machine: "deploy",
	jwt: "e30.e30.e30",
};

/** Texts of the maximum body size, each costly to one kind of check: maximum runs of marks, characters that expand, lists. */
const LONG = ["\u0301".repeat(30).concat("a"), "\uff9e".repeat(30).concat("a"), "\ufdfa", "a,", "-"].map((piece) =>
	piece.repeat(MAX_BODY_BYTES / Buffer.byteLength(piece)),
);

/** Maximum processor time of a check in milliseconds; other requests wait meanwhile. */
const MAX_CHECK_MS = 25;

const routes = allRoutes();

interface Operation {
	parameters: { name: string; in: string }[];
	requestBody?: { content: Record<string, { schema: { properties?: object } }> };
}

/** Fields of a body or query, from the reference. */
function fieldsOf(route: Route, part: "body" | "query"): string[] {
	const { paths } = openApiDocument([route], "") as { paths: Record<string, Record<string, Operation>> };
	const operation = paths[route.path]?.[route.method.toLowerCase()];
	const [body] = Object.values(operation?.requestBody?.content ?? {});
	if (part === "body") return Object.keys(body?.schema.properties ?? {});
	return (operation?.parameters ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name);
}

/** Valid values of fields that mean something else in the body of one route. */
const GOOD_THERE: Readonly<Record<string, object>> = {
	"POST /api/v1/auth/tokens": { purpose: "backup" },
	"POST /api/v1/auth/factors": { type: "totp" },
	"PUT /api/v1/realms/{slug}/machines/{name}/trusts/{trust}": { type: "github" },
};

/** A query's values are always strings. */
function goodFor({ method, path }: Route, part: "body" | "query", fields: readonly string[]): Record<string, unknown> {
	const good = { ...GOOD, ...(part === "body" ? GOOD_THERE[`${method} ${path}`] : {}) } as Record<string, unknown>;
	return Object.fromEntries(fields.map((field) => [field, part === "query" ? String(good[field]) : good[field]]));
}

for (const route of routes) {
	for (const part of ["body", "query"] as const) {
		const schema = route[part];
		if (schema === undefined) continue;
		const fields = fieldsOf(route, part);
		// Each engine has fields of its own; sso/settings.test.ts tries those of providers.
		if (fields.length === 0) continue;
		const good = goodFor(route, part, fields);

		test(`the ${part} of ${route.method} ${route.path} is accepted when every field is good`, () => {
			assert.deepEqual(
				fields.filter((field) => !(field in GOOD)),
				[],
				"add a valid value for each of these fields to GOOD",
			);
			check(schema, good);
		});

		test(`no message about the ${part} of ${route.method} ${route.path} repeats what was received`, () => {
			let refused = 0;
			for (const field of fields) {
				for (const [what, canary] of Object.entries(CANARIES)) {
					if (part === "query" && typeof canary !== "string") continue;
					try {
						check(schema, { ...good, [field]: canary });
					} catch (error) {
						assert.ok(error instanceof AppError, `${field} with ${what}: ${String(error)}`);
						assert.ok(error.status === 400, `${field} with ${what}`);
						assert.doesNotMatch(JSON.stringify(error) + String(error.cause), TRACE, `${field} with ${what}`);
						assert.match(error.message, /^(?:SAMLResponse|[a-z]).*([^.]|\.\.)$/, "lower case, and no full stop");
						refused++;
					}
				}
			}
			assert.ok(refused > fields.length / 2);
		});

		test(`no text in the ${part} of ${route.method} ${route.path}, however long, takes long to check`, () => {
			for (const field of fields.filter((name) => typeof GOOD[name] === "string")) {
				for (const [index, text] of LONG.entries()) {
					const cost = costOf(() => {
						try {
							check(schema, { ...good, [field]: text });
						} catch (error) {
							assert.ok(error instanceof AppError, String(error));
						}
					});
					assert.ok(cost < MAX_CHECK_MS, `${field} with text ${index}: ${Math.round(cost)} ms`);
				}
			}
		});
	}
}

/** Bodies without required fields, and those that an engine or a provider defines. */
const NOTHING_REQUIRED =
	/\/(realms\/\{slug\}|revoke|restore|limits|identities\/\{id\}|factors\/\{id\}|auth\/recovery-codes|config|generate|validate|providers\/\{name\})$/;

test("every field that is required is asked for by its name", () => {
	for (const route of routes.filter(({ body, path }) => body !== undefined && !NOTHING_REQUIRED.test(path))) {
		const fields = fieldsOf(route, "body");
		const good = goodFor(route, "body", fields);
		let required = 0;
		for (const field of fields) {
			const { [field]: _, ...rest } = good;
			try {
				check(route.body as never, rest);
			} catch (error) {
				assert.ok(error instanceof AppError);
				assert.deepEqual([error.code, error.message], ["missing_field", `${field} is required`], route.path);
				required++;
			}
		}
		assert.ok(required > 0, route.path);
	}
});
