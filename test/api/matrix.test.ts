import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { requestTo } from "../harness/requests.ts";
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

async function attempt(endpoint: Endpoint, persona?: Persona, credential: Credential = "session"): Promise<Answer> {
	const person = persona && world.people[persona];
	const scopes = credential === "session" ? "read" : credential;
	const { path, body } = await requestTo(endpoint.name)(world, { person, scopes });
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

for (const endpoint of ENDPOINTS) {
	const { name, least } = endpoint;
	test(`${name}: every role and every scope is answered as the rules say`, async () => {
		const success = WITHOUT_PROVIDER[name] ?? endpoint.success;
		const nobody = least === "public" ? { status: success } : { status: 401, code: "unauthorized" };
		// Public routes ignore tokens, and two of them cost a password hash: one kind of token proves as much as four.
		const credentials = least === "public" ? (["session"] as const) : CREDENTIALS;
		const cells = PERSONAS.flatMap((persona) => credentials.map((credential) => ({ persona, credential })));
		const attempts = [
			async () => difference("anonymous", await attempt(endpoint), nobody),
			...cells.map(({ persona, credential }) => async () => {
				const answer = await attempt(endpoint, persona, credential);
				const right = expected(endpoint, persona, credential, success);
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
