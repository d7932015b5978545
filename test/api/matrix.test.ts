import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { type PreparedRequest, requestTo } from "../harness/requests.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { CREDENTIALS, type Credential, createWorld, PERSONAS, type Persona, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, type Endpoint } from "../spec/endpoints.ts";

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
	{ least, scope, auth }: Endpoint,
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
		if (rank === 0) return { status: auth === "admin" ? 403 : 404 };
		if (rank < LEAST_RANK[least as keyof typeof LEAST_RANK]) {
			return hasScope ? { status: 403, code: "forbidden" } : { status: 403 };
		}
	}
	if (hasScope) return { status: success };
	return scope === "session"
		? { status: 400, code: "unsupported_operation" }
		: { status: 403, code: "insufficient_scope" };
}

type Requests = (persona: Persona | undefined, credential: Credential, isRefused: boolean) => Promise<PreparedRequest>;

/** Prepares requests. One that is refused leaves what it concerns as it was: it serves all refused attempts of a person. */
function requestsTo({ name }: Endpoint): Requests {
	const refused = new Map<Persona | undefined, Promise<PreparedRequest>>();
	const prepare = async (persona: Persona | undefined, credential: Credential) => {
		const scopes = credential === "session" ? "read" : credential;
		return requestTo(name)(world, { person: persona && world.people[persona], scopes });
	};
	return (persona, credential, isRefused) => {
		const known = isRefused ? refused.get(persona) : undefined;
		const request = known ?? prepare(persona, credential);
		if (isRefused) refused.set(persona, request);
		return request;
	};
}

async function send(
	{ method }: Endpoint,
	{ path, body }: PreparedRequest,
	persona?: Persona,
	credential: Credential = "session",
): Promise<Answer> {
	const token = persona && world.tokens[persona][credential];
	return world.api.send(method, path, { token, ...(body && { raw: JSON.stringify(body) }) });
}

/** Returns no line for the expected answer, else one with the difference. */
function difference(who: string, answer: Answer, { status, code }: Expected): string[] {
	const got = (answer.body as Partial<ErrorBody> | undefined)?.error?.code;
	if (answer.status !== status)
		return [`${who}: expected ${status}, got ${answer.status} ${answer.text.slice(0, 120)}`];
	return code === undefined || code === got ? [] : [`${who}: expected the code ${code}, got ${String(got)}`];
}

for (const endpoint of ENDPOINTS) {
	const { name, least } = endpoint;
	test(`${name}: every role and every scope is answered as the rules say`, async () => {
		const success = WITHOUT_PROVIDER[name] ?? endpoint.success;
		const nobody = least === "public" ? { status: success } : { status: 401, code: "unauthorized" };
		// Public routes ignore tokens, and two of them cost a password hash: one kind of token proves as much as four.
		const credentials = least === "public" ? (["session"] as const) : CREDENTIALS;
		const cells = PERSONAS.flatMap((persona) => credentials.map((credential) => ({ persona, credential })));
		const requests = requestsTo(endpoint);
		const attempt = async (right: Expected, persona?: Persona, credential: Credential = "session") => {
			const request = await requests(persona, credential, right.status !== success);
			const who = persona === undefined ? "anonymous" : `${persona}/${credential}`;
			return difference(who, await send(endpoint, request, persona, credential), right);
		};
		const attempts = [
			() => attempt(nobody),
			...cells.map(({ persona, credential }) => {
				return () => attempt(expected(endpoint, persona, credential, success), persona, credential);
			}),
		];
		const differences: unknown[] = [];
		// One at a time where a password may be checked: only four checks of one source may wait.
		if (least === "public") for (const one of attempts) differences.push(await one());
		else differences.push(...(await Promise.all(attempts.map((one) => one()))));
		assert.deepEqual(differences.flat(), []);
	});
}
