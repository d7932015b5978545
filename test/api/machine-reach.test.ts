/* Every route × machines of every role, scope and limit. A machine manages nothing. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { machine, machineToken, realm } from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { named } from "../harness/naming.ts";
import { type PreparedRequest, requestTo } from "../harness/requests.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, type Endpoint } from "../spec/endpoints.ts";
import { FOR_MACHINES } from "../spec/machines.ts";
import { KINDS, type Limit } from "../spec/restrictions.ts";

const ALL = "read,write,delete";
const RANK = { viewer: 1, member: 2, admin: 3 } as const;

/** A machine's role and scopes. */
const MACHINES = [
	{ role: "admin", scopes: ALL },
	{ role: "admin", scopes: "read" },
	{ role: "member", scopes: ALL },
	{ role: "viewer", scopes: ALL },
	{ role: "viewer", scopes: "delete" },
] as const;

/** Limits that a machine can have, as those of a token. */
const LIMITED: readonly Limit[] = [
	...(["its environment", "another environment"] as const),
	...([
		"its environment, which the request leaves out",
		"another environment, where the request leaves it out",
	] as const),
	...(["its role of the engine", "a role of another engine", "its environment and its role of the engine"] as const),
];

let engines: MemoEngines;
let server: Server;
let world: World;
/** Slug of a realm that no request concerns. */
let elsewhere: string;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder, SVC_LIMITS_REALMS_PER_ACCOUNT: "1000" } });
	world = await createWorld(api(server));
	elsewhere = (await realm(world.api, world.people.owner)).slug;
});
after(async () => {
	await server.close();
	await engines.remove();
});

interface Expected {
	readonly status: number;
	readonly code?: string;
}

const PEOPLE_ONLY: Expected = { status: 403, code: "forbidden" };
const NO_SCOPE: Expected = { status: 403, code: "insufficient_scope" };
const HIDDEN: Expected = { status: 404 };

interface Attempt {
	readonly request: PreparedRequest;
	/** Slug of the realm that it concerns. */
	readonly slug: string;
}

const forPeople = new Map<string, Promise<Attempt>>();

/** Returns a request that its owner may make; one that machines may not make is made once, as none of them uses it up. */
function prepare({ name }: Endpoint): Promise<Attempt> {
	if (name in FOR_MACHINES) return freshRequest(name);
	const known = forPeople.get(name) ?? freshRequest(name);
	forPeople.set(name, known);
	return known;
}

async function freshRequest(name: string): Promise<Attempt> {
	const request = await requestTo(name)(world, { person: world.people.owner, scopes: "read" });
	// A deleted realm has no machine that could ask for it.
	if (name === "POST /api/v1/realms/{slug}/restore") return { request, slug: world.slug };
	const [, inPath] = /^\/api\/v1\/(?:realms|eso)\/([^/?]+)/.exec(request.path) ?? [];
	return { request, slug: inPath ?? world.slug };
}

const made = new Map<string, Promise<string>>();

/** Makes a token of a machine of a realm. */
async function tokenOf(slug: string, given: object): Promise<string> {
	const { owner } = world.people;
	const { name } = await machine(world.api, owner, slug, given);
	return (await machineToken(world.api, owner, slug, name)).token;
}

/** Sends a request as a machine of a realm: a realm may have 250. */
async function sendAs(slug: string, given: object, { method }: Endpoint, request: PreparedRequest): Promise<Answer> {
	const key = JSON.stringify([slug, given]);
	const token = await (made.get(key) ?? made.set(key, tokenOf(slug, given)).get(key));
	const { path, body } = request;
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

const successOf = ({ name, success }: Endpoint): Expected => ({ status: WITHOUT_PROVIDER[name] ?? success });

function expected(endpoint: Endpoint, { role, scopes }: (typeof MACHINES)[number]): Expected {
	const { name, least, scope } = endpoint;
	if (FOR_MACHINES[name] !== "ok") return PEOPLE_ONLY;
	const hasScopes = scope === "any" || scope.split(",").every((one) => scopes.split(",").includes(one));
	if (least in RANK && RANK[role] < RANK[least as keyof typeof RANK]) return hasScopes ? PEOPLE_ONLY : { status: 403 };
	return hasScopes ? successOf(endpoint) : NO_SCOPE;
}

async function tryMachine(endpoint: Endpoint, given: (typeof MACHINES)[number]): Promise<string[]> {
	const { request, slug } = await prepare(endpoint);
	const answer = await sendAs(slug, given, endpoint, request);
	return difference(`${given.role} with ${given.scopes}`, answer, expected(endpoint, given));
}

async function tryLimit(endpoint: Endpoint, limit: Limit): Promise<string[]> {
	const { usual: environment, kind, name } = endpoint;
	const other = environment === "dev" ? "prod" : "dev";
	const limits: Partial<Record<Limit, object>> = {
		"its environment": { environment },
		"another environment": { environment: other },
		"its environment, which the request leaves out": { environment },
		"another environment, where the request leaves it out": { environment: other },
		"its role of the engine": { engines: ["memo-1:readonly"] },
		"a role of another engine": { engines: ["memo-2:readonly"] },
		"its environment and its role of the engine": { environment, engines: ["memo-1:readonly"] },
	};
	const { request, slug } = await prepare(endpoint);
	const sent = limit.includes("the request leaves") ? request : named(endpoint, request);
	const answer = await sendAs(slug, { role: "admin", scopes: ALL, ...limits[limit] }, endpoint, sent);
	const isOpen = FOR_MACHINES[name] === "ok";
	const right = !isOpen ? { status: 403 } : KINDS[kind][limit] === "ok" ? successOf(endpoint) : NO_SCOPE;
	return difference(`limited to ${limit}`, answer, right);
}

/** A machine of another realm finds the realm as little as a person who is not in it. */
async function tryElsewhere(endpoint: Endpoint): Promise<string[]> {
	const { request } = await prepare(endpoint);
	const answer = await sendAs(elsewhere, { role: "admin", scopes: ALL }, endpoint, request);
	const isInRealm = /\{slug\}|\{realm\}/.test(endpoint.path);
	const open = isInRealm ? HIDDEN : successOf(endpoint);
	return difference("of another realm", answer, endpoint.name in FOR_MACHINES ? open : PEOPLE_ONLY);
}

for (const endpoint of ENDPOINTS.filter(({ least }) => least !== "public")) {
	const what = endpoint.name in FOR_MACHINES ? "a machine gets what its role, scopes and limits say" : "is for people";
	test(`${endpoint.name}: ${what}`, async () => {
		const differences = await Promise.all([
			...MACHINES.map((given) => tryMachine(endpoint, given)),
			...LIMITED.map((limit) => tryLimit(endpoint, limit)),
			tryElsewhere(endpoint),
		]);
		assert.deepEqual(differences.flat(), []);
	});
}

test("the routes for machines are routes", () => {
	const names = ENDPOINTS.map(({ name }) => name as string);
	assert.deepEqual(
		Object.keys(FOR_MACHINES).filter((name) => !names.includes(name)),
		[],
	);
});
