/* Every route × every restriction that a token can have. Design: §13 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, ending, type Person, person, realm } from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { openApi, routesOf } from "../harness/openapi.ts";
import { type PreparedRequest, REQUESTS } from "../harness/requests.ts";
import type { ApiToken, ErrorBody } from "../harness/resources.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, routeName } from "../spec/endpoints.ts";
import { KINDS, LIMITS, type Limit, type Needed, type Outcome, ROWS, type Row } from "../spec/restrictions.ts";

const ALL = "read,write,delete";
const SCOPES = ["read", "write", "delete", "read,write", ALL] as const;
const [ROLE, OTHER_ROLE] = ["memo-1:readonly", "memo-2:readonly"];

/** Tokens that let nobody in, although their owners may do everything. */
const DEAD = ["expired", "revoked", "made by one that was revoked", "of a disabled account"] as const;

interface Expected {
	readonly status: number;
	readonly code?: string;
}

const REFUSALS: Readonly<Record<Exclude<Outcome, "ok">, Expected>> = {
	scope: { status: 403, code: "insufficient_scope" },
	hidden: { status: 404 },
	admins: { status: 403, code: "forbidden" },
};
const NOT_A_SESSION: Expected = { status: 400, code: "unsupported_operation" };
const NOBODY: Expected = { status: 401, code: "unauthorized" };

let engines: MemoEngines;
let server: Server;
let world: World;
/** Slug of a realm that the requests do not concern, by its owner. */
let elsewhere: Map<Person, string>;
let dead: Record<(typeof DEAD)[number], string>;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder } });
	world = await createWorld(api(server));
	const { instance, owner } = world.people;
	elsewhere = new Map();
	for (const who of [instance, owner]) elsewhere.set(who, (await realm(world.api, who)).slug);
	dead = await deadTokens(instance);
});
after(async () => {
	await server.close();
	await engines.remove();
});

async function deadTokens(instance: Person): Promise<typeof dead> {
	const body = { name: "dead", scopes: ALL };
	const mint = (token: string, more: object = {}): Promise<Answer<ApiToken>> =>
		world.api.post("/auth/tokens", { ...body, ...more }, { token });
	const [expired, end_ms] = await ending((expires_at) => mint(instance.token, { expires_at }));
	const revoked = await apiToken(world.api, instance, ALL);
	const child = ok(await mint(revoked.token), 201);
	ok(await world.api.delete(`/auth/tokens/${revoked.id}`, { token: instance.token }));
	const gone = await person(world.api, "gone");
	const asleep = await apiToken(world.api, gone, ALL);
	ok(await world.api.post(`/users/${gone.id}/disable`, undefined, { token: instance.token }));
	await pause(Math.max(0, end_ms - Date.now() + 50));
	return {
		expired: expired.token,
		revoked: revoked.token,
		"made by one that was revoked": child.token,
		"of a disabled account": asleep.token,
	};
}

/** A request that only its token may forbid, and the realm it concerns. */
interface Attempt {
	readonly who: Person;
	readonly request: PreparedRequest;
	/** Slug of the realm that the request concerns, else of one that the person is in. */
	readonly slug: string;
}

async function prepare([name]: Row, scopes: string): Promise<Attempt> {
	const { instance, owner } = world.people;
	const isInstance = ENDPOINTS.some(({ method, path, auth }) => `${method} ${path}` === name && auth === "instance");
	const who = isInstance ? instance : owner;
	const make = REQUESTS[name];
	assert.ok(make, "the route has a request");
	const request = await make(world, { person: who, scopes });
	const [, inPath] = /^\/api\/v1\/(?:realms|eso)\/([^/?]+)/.exec(request.path) ?? [];
	const [, inQuery] = /[?&]realm=([^&]+)/.exec(request.path) ?? [];
	// The instance admin is in nobody else's realm: for these requests its own token for any realm proves as much.
	const asked = isInstance ? undefined : (inPath ?? inQuery);
	return { who, request, slug: asked ?? (isInstance ? "" : world.slug) };
}

const environmentOf = ([, , , , usual = "dev"]: Row) => usual;

/** Returns the fields that limit a token in this way. */
function limitsOf(limit: Limit, row: Row, { who, slug }: Attempt): object {
	const environment = environmentOf(row);
	const other = environment === "dev" ? "prod" : "dev";
	const there = elsewhere.get(who);
	const here = slug === "" ? there : slug;
	const limits: Readonly<Record<Limit, object>> = {
		"its realm": { realm: here },
		"another realm": { realm: there },
		"its environment": { environment },
		"another environment": { environment: other },
		"its environment, which the request leaves out": { environment },
		"another environment, where the request leaves it out": { environment: other },
		"its environment in another realm": { environment, realm: there },
		"its role of the engine": { realm: here, engines: [ROLE] },
		"a role of another engine": { realm: here, engines: [OTHER_ROLE] },
		"its role of the engine in another realm": { realm: there, engines: [ROLE] },
		"its environment and its role of the engine": { realm: here, environment, engines: [ROLE] },
	};
	return limits[limit];
}

/** Returns the request with its environment named, unless it should be left out. */
function naming(row: Row, { path, body }: PreparedRequest, limit: Limit): PreparedRequest {
	const [, , , named] = row;
	if (named === undefined || limit.includes("the request leaves")) return { path, ...(body && { body }) };
	const environment = environmentOf(row);
	if (named === "body") return { path, body: { ...body, environment } };
	return { path: `${path}${path.includes("?") ? "&" : "?"}env=${environment}`, ...(body && { body }) };
}

function send({ 0: name }: Row, { path, body }: PreparedRequest, token: string): Promise<Answer> {
	const [method = ""] = name.split(" ");
	return world.api.send(method, path, { token, ...(body && { raw: JSON.stringify(body) }) });
}

/** Returns no line for the expected answer, else one with the difference. */
function difference(what: string, answer: Answer, { status, code }: Expected): string[] {
	const got = (answer.body as Partial<ErrorBody> | undefined)?.error?.code;
	const isRight = answer.status === status && (code === undefined || code === got);
	return isRight
		? []
		: [`${what}: expected ${status} ${code ?? ""}, got ${answer.status} ${answer.text.slice(0, 150)}`];
}

function successOf([name]: Row): Expected {
	const endpoint = ENDPOINTS.find(({ method, path }) => `${method} ${path}` === name);
	assert.ok(endpoint, "the route is in the endpoint table");
	return { status: WITHOUT_PROVIDER[name] ?? endpoint.success };
}

const holds = (scopes: string, needed: Needed): boolean =>
	needed === "any" || needed.split(",").every((scope) => scopes.split(",").includes(scope));

async function tryLimit(row: Row, limit: Limit): Promise<string[]> {
	const [, , kind] = row;
	const attempt = await prepare(row, ALL);
	const { token } = await apiToken(world.api, attempt.who, ALL, limitsOf(limit, row, attempt));
	const outcome: Outcome = KINDS[kind][limit];
	const right = outcome !== "ok" ? REFUSALS[outcome] : kind === "session" ? NOT_A_SESSION : successOf(row);
	return difference(`limited to ${limit}`, await send(row, naming(row, attempt.request, limit), token), right);
}

async function tryScopes(row: Row, scopes: string): Promise<string[]> {
	const [, needed, kind] = row;
	const { who, request } = await prepare(row, scopes);
	const { token } = await apiToken(world.api, who, scopes);
	const allowed = holds(scopes, needed) ? successOf(row) : REFUSALS.scope;
	return difference(scopes, await send(row, request, token), kind === "session" ? NOT_A_SESSION : allowed);
}

/** Requests that end or change the session use the session of somebody whom no other test needs. */
async function trySession(row: Row): Promise<string[]> {
	const { who, request } = await prepare(row, ALL);
	const { token } = row[2] === "session" ? await person(world.api, "leaver") : who;
	return difference("a session", await send(row, request, token), successOf(row));
}

async function tryDead(row: Row, kind: (typeof DEAD)[number]): Promise<string[]> {
	const { request } = await prepare(row, ALL);
	return difference(kind, await send(row, request, dead[kind]), NOBODY);
}

for (const row of ROWS) {
	const [name, , kind] = row;
	test(`${name}: every token is answered as its restriction says`, async () => {
		if (kind === "public") {
			for (const token of [dead.revoked, world.tokens.owner.read]) {
				const { request } = await prepare(row, ALL);
				assert.deepEqual(difference("a token", await send(row, request, token), successOf(row)), []);
			}
			return;
		}
		const differences = await Promise.all([
			trySession(row),
			...SCOPES.map((scopes) => tryScopes(row, scopes)),
			...LIMITS.map((limit) => tryLimit(row, limit)),
			...DEAD.map((one) => tryDead(row, one)),
		]);
		assert.deepEqual(differences.flat(), []);
	});
}

test("every route of the server has one row in the table of restrictions, and every row a route", async () => {
	const routes = routesOf(await openApi(world.api)).map(routeName);
	const rows = ROWS.map(([name]) => name.replaceAll(/\{[^}]*\}/g, "{}"));
	assert.equal(new Set(rows).size, rows.length);
	assert.deepEqual(new Set(rows), new Set(routes));
	const isOpen = new Set(
		ENDPOINTS.filter(({ auth }) => auth === "none").map(({ method, path }) => `${method} ${path}`),
	);
	for (const [name, , kind] of ROWS) assert.equal(kind === "public", isOpen.has(name), name);
});
