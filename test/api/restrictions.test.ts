/* Every route × every restriction that a token can have. Design: §13 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, ending, type Person, person, realm } from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { type PreparedRequest, requestTo } from "../harness/requests.ts";
import type { ApiToken, ErrorBody } from "../harness/resources.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, type Endpoint, type Scope } from "../spec/endpoints.ts";
import { KINDS, LIMITS, type Limit, type Outcome } from "../spec/restrictions.ts";

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
/** Tokens that the running test made. */
const made: { who: Person; id: string }[] = [];
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

async function prepare({ name, auth }: Endpoint, scopes: string, leaver?: Person): Promise<Attempt> {
	const { instance, owner } = world.people;
	const isInstance = auth === "instance";
	const who = leaver ?? (isInstance ? instance : owner);
	const request = await requestTo(name)(world, { person: who, scopes });
	const [, inPath] = /^\/api\/v1\/(?:realms|eso)\/([^/?]+)/.exec(request.path) ?? [];
	const [, inQuery] = /[?&]realm=([^&]+)/.exec(request.path) ?? [];
	// The instance admin is in nobody else's realm, and no token can be made for a deleted one: a token for any realm proves as much.
	const asked = isInstance || name === "POST /api/v1/realms/{slug}/restore" ? undefined : (inPath ?? inQuery);
	return { who, request, slug: asked ?? (isInstance ? "" : world.slug) };
}

/** Returns the fields that limit a token in this way. */
function limitsOf(limit: Limit, { usual: environment }: Endpoint, { who, slug }: Attempt): object {
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
		backups: { purpose: "backup" },
	};
	return limits[limit];
}

/** Returns the request with its environment named, unless it should be left out. */
function naming(endpoint: Endpoint, { path, body }: PreparedRequest, limit: Limit): PreparedRequest {
	const { named, usual: environment } = endpoint;
	if (named === undefined || limit.includes("the request leaves")) return { path, ...(body && { body }) };
	if (named === "body") return { path, body: { ...body, environment } };
	return { path: `${path}${path.includes("?") ? "&" : "?"}env=${environment}`, ...(body && { body }) };
}

/** Makes a token that is revoked after the test: an account may have 1,000. */
async function newToken(who: Person, scopes: string | undefined, limits?: object): Promise<string> {
	const { id, token } = await apiToken(world.api, who, scopes, limits);
	made.push({ who, id });
	return token;
}

function send({ method }: Endpoint, { path, body }: PreparedRequest, token: string): Promise<Answer> {
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

function successOf({ name, success }: Endpoint): Expected {
	return { status: WITHOUT_PROVIDER[name] ?? success };
}

const holds = (scopes: string, needed: Scope): boolean =>
	needed === "any" || needed.split(",").every((scope) => scopes.split(",").includes(scope));

/** Prepares one attempt for all that are refused: such a request leaves what it concerns as it was. */
function preparedOnce(endpoint: Endpoint): () => Promise<Attempt> {
	let prepared: Promise<Attempt> | undefined;
	return () => {
		prepared ??= prepare(endpoint, ALL);
		return prepared;
	};
}

async function tryLimit(endpoint: Endpoint, limit: Limit, refused: () => Promise<Attempt>): Promise<string[]> {
	const { kind, scope } = endpoint;
	const outcome: Outcome = KINDS[kind][limit];
	const isRefused = outcome !== "ok" || scope === "session";
	const attempt = await (isRefused ? refused() : prepare(endpoint, ALL));
	// Only the instance admin makes a token for backups, which has no scopes.
	const [maker, scopes] = limit === "backups" ? [world.people.instance, undefined] : [attempt.who, ALL];
	const token = await newToken(maker, scopes, limitsOf(limit, endpoint, attempt));
	const right = outcome !== "ok" ? REFUSALS[outcome] : isRefused ? NOT_A_SESSION : successOf(endpoint);
	return difference(
		`limited to ${limit}`,
		await send(endpoint, naming(endpoint, attempt.request, limit), token),
		right,
	);
}

async function tryScopes(endpoint: Endpoint, scopes: string): Promise<string[]> {
	const { scope } = endpoint;
	const { who, request } = await prepare(endpoint, scopes);
	const token = await newToken(who, scopes);
	const allowed = holds(scopes, scope) ? successOf(endpoint) : REFUSALS.scope;
	return difference(scopes, await send(endpoint, request, token), scope === "session" ? NOT_A_SESSION : allowed);
}

/** Requests that end or change the session use the session of somebody whom no other test needs. */
async function trySession(endpoint: Endpoint): Promise<string[]> {
	const isOwn = endpoint.kind === "session" && endpoint.path.startsWith("/api/v1/auth/");
	const leaver = isOwn ? await person(world.api, "leaver") : undefined;
	const { who, request } = await prepare(endpoint, ALL, leaver);
	return difference("a session", await send(endpoint, request, who.token), successOf(endpoint));
}

async function tryDead(endpoint: Endpoint, kind: (typeof DEAD)[number], { request }: Attempt): Promise<string[]> {
	return difference(kind, await send(endpoint, request, dead[kind]), NOBODY);
}

afterEach(async () => {
	await Promise.all(made.splice(0).map(({ who, id }) => world.api.delete(`/auth/tokens/${id}`, { token: who.token })));
});

for (const endpoint of ENDPOINTS) {
	const { name, kind } = endpoint;
	test(`${name}: every token is answered as its restriction says`, async () => {
		if (kind === "public") {
			for (const token of [dead.revoked, world.tokens.owner.read]) {
				const { request } = await prepare(endpoint, ALL);
				assert.deepEqual(difference("a token", await send(endpoint, request, token), successOf(endpoint)), []);
			}
			return;
		}
		const refused = preparedOnce(endpoint);
		const differences = await Promise.all([
			trySession(endpoint),
			...SCOPES.map((scopes) => tryScopes(endpoint, scopes)),
			...LIMITS.map((limit) => tryLimit(endpoint, limit, refused)),
			...DEAD.map(async (one) => tryDead(endpoint, one, await refused())),
		]);
		assert.deepEqual(differences.flat(), []);
	});
}
