/* Every request about what is somebody else's, sent by admins of another realm, who also name their own realm instead. Design: §13 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { type Person, person, realm } from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { type PreparedRequest, requestTo } from "../harness/requests.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS, type Endpoint } from "../spec/endpoints.ts";

/** Routes that an admin may use in their own realm with the same names: they concern nothing of the other realm. */
const IN_OWN_REALM: Readonly<Record<string, string>> = {
	"GET /api/v1/realms/{slug}": "shows it",
	"PUT /api/v1/realms/{slug}": "renames it",
	"DELETE /api/v1/realms/{slug}": "deletes it",
	"POST /api/v1/realms/{slug}/secrets": "writes a key of the same name",
	"GET /api/v1/realms/{slug}/secrets": "lists its keys",
	"GET /api/v1/realms/{slug}/diff": "compares its environments",
	"POST /api/v1/realms/{slug}/policy/bindings": "binds a person to it",
	"GET /api/v1/realms/{slug}/policy/bindings": "lists its members",
	"PUT /api/v1/realms/{slug}/policy/bindings/{userID}": "changes the role of a person that it also binds",
	"DELETE /api/v1/realms/{slug}/policy/bindings/{userID}": "unbinds a person that it also binds",
	"PUT /api/v1/realms/{slug}/machines/{name}": "makes a machine of the same name",
	"GET /api/v1/realms/{slug}/machines": "lists its machines",
	"POST /api/v1/realms/{slug}/engines/{type}/generate": "makes a credential for it",
	"GET /api/v1/realms/{slug}/leases": "lists its leases",
	"GET /api/v1/eso/{realm}": "shows its values",
};

/** Routes whose parameters name nothing that belongs to anybody. */
const NOBODYS = ["GET /api/v1/auth/oidc/{provider}/login", "POST /api/v1/auth/ldap/{provider}/link"];

/** Answers that reveal and change nothing. */
const REFUSALS = [400, 403, 404, 405, 409];

let engines: MemoEngines;
let server: Server;
let world: World;
/** Admins of realms of their own: the first is not in the world's realm, the second is a viewer there. */
let attackers: Person[];
/** Slugs of their realms. */
let own: Map<Person, string>;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder, SVC_LIMITS_REALMS_PER_ACCOUNT: "1000" } });
	world = await createWorld(api(server));
	attackers = [await person(world.api, "mallory"), world.people.viewer];
	own = new Map();
});
after(async () => {
	await server.close();
	await engines.remove();
});

/** Returns the slug of the attacker's realm; a new one where an earlier request has deleted it. */
async function ownRealm(attacker: Person): Promise<string> {
	const slug = own.get(attacker);
	if (slug !== undefined && (await world.api.get(`/realms/${slug}`, { token: attacker.token })).status === 200)
		return slug;
	const made = (await realm(world.api, attacker)).slug;
	own.set(attacker, made);
	return made;
}

const ask = (endpoint: Endpoint, who: Person, path: string, body: object | undefined): Promise<Answer> =>
	world.api.send(endpoint.method, path, { token: who.token, ...(body && { raw: JSON.stringify(body) }) });

const IN_PATH = /(?<=^\/api\/v1\/(?:realms|eso)\/)[^/?]+/;

/** Sends a request as each attacker: as it is, if the attacker is nobody there, and about their own realm. */
async function attack(endpoint: Endpoint, { path, body }: PreparedRequest): Promise<string[]> {
	const reached: string[] = [];
	for (const [index, attacker] of attackers.entries()) {
		const crossed = path.replace(IN_PATH, await ownRealm(attacker));
		const isNobodyThere = index === 0;
		const attempts = [...(isNobodyThere ? [path] : []), ...(crossed === path ? [] : [crossed])];
		for (const attempt of attempts) {
			const { status } = await ask(endpoint, attacker, attempt, body);
			const isAllowed = attempt === crossed && crossed !== path && endpoint.name in IN_OWN_REALM;
			if (!isAllowed && !REFUSALS.includes(status)) reached.push(`attacker ${index}: ${status} ${attempt}`);
		}
	}
	return reached;
}

const isSomebodys = ({ name, path, least }: Endpoint) =>
	path.includes("{") && least !== "public" && !NOBODYS.includes(name);

for (const endpoint of ENDPOINTS.filter(isSomebodys)) {
	const { name, least } = endpoint;
	test(`${name}: an admin of another realm neither reaches nor changes it`, async () => {
		const { instance, owner } = world.people;
		const rightful = least === "instance" ? instance : owner;
		const request = await requestTo(name)(world, { person: rightful, scopes: "read,write,delete" });
		assert.deepEqual(await attack(endpoint, request), []);
		const { status, text } = await ask(endpoint, rightful, request.path, request.body);
		assert.equal(
			status,
			WITHOUT_PROVIDER[name] ?? endpoint.success,
			`afterwards, its owner gets ${text.slice(0, 200)}`,
		);
	});
}
