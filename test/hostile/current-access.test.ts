import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, keepSessions, PASSWORD, type Person } from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { requestTo } from "../harness/requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { ENDPOINTS } from "../spec/endpoints.ts";
import { type HoldingServer, startHoldingServer } from "./door.ts";
import { everythingStored, withDatabase } from "./stored.ts";

/** The basis of a decision besides the caller's session or token: nothing, a role in the realm of its path, or the instance. */
type On = "own" | "viewer" | "member" | "admin" | "instance";

interface Options {
	sessionOnly?: true;
	inRealm?: true;
	/** The engine in the request, when not the one whose credentials have leases. */
	engine?: string;
	body?: object;
	/** The request gives a role in the realm. */
	bindings?: true;
}

const VALIDATE = "POST /api/v1/realms/{slug}/engines/{type}/validate";

/** Every route that changes something, and the basis of its decision. A new route without a row fails below. Design: §13 */
const CHANGES: readonly (readonly [route: string, On, options?: Options])[] = [
	["POST /api/v1/auth/logout", "own", { sessionOnly: true }],
	["POST /api/v1/auth/password", "own", { sessionOnly: true }],
	["DELETE /api/v1/auth/sessions/{id}", "own", { sessionOnly: true }],
	["POST /api/v1/auth/factors", "own", { sessionOnly: true }],
	["POST /api/v1/auth/tokens", "own"],
	["POST /api/v1/auth/tokens", "viewer", { body: { realm: "" } }],
	["DELETE /api/v1/auth/tokens/{id}", "own"],
	["PUT /api/v1/auth/providers/{name}", "instance"],
	["DELETE /api/v1/auth/providers/{name}", "instance"],
	["POST /api/v1/users/{id}/disable", "instance"],
	["POST /api/v1/users/{id}/enable", "instance"],
	["PUT /api/v1/users/{id}", "instance", { sessionOnly: true }],
	["POST /api/v1/users/{id}/reset", "instance", { sessionOnly: true }],
	["DELETE /api/v1/users/{id}/factors", "instance", { sessionOnly: true }],
	["PUT /api/v1/users/{id}/limits", "instance"],
	["DELETE /api/v1/users/{id}/sessions/{session}", "instance"],
	["DELETE /api/v1/users/{id}/tokens/{token}", "instance"],
	["POST /api/v1/revoke", "instance"],
	["POST /api/v1/invitations", "own", { sessionOnly: true }],
	["POST /api/v1/invitations", "admin", { sessionOnly: true, bindings: true }],
	["DELETE /api/v1/invitations/{id}", "own", { sessionOnly: true }],
	["POST /api/v1/realms", "own"],
	["PUT /api/v1/realms/{slug}", "own", { sessionOnly: true }],
	["POST /api/v1/realms/{slug}/leave", "own", { sessionOnly: true }],
	["DELETE /api/v1/realms/{slug}", "admin"],
	["POST /api/v1/realms/{slug}/restore", "own"],
	["POST /api/v1/realms/{slug}/secrets", "member"],
	["DELETE /api/v1/realms/{slug}/secrets/{key}", "admin"],
	["POST /api/v1/realms/{slug}/secrets/{key}/rollback", "member"],
	["POST /api/v1/realms/{slug}/secrets/{key}/restore", "admin"],
	["POST /api/v1/realms/{slug}/promote", "member"],
	["POST /api/v1/realms/{slug}/policy/bindings", "admin"],
	["PUT /api/v1/realms/{slug}/policy/bindings/{userID}", "admin"],
	["DELETE /api/v1/realms/{slug}/policy/bindings/{userID}", "admin"],
	["PUT /api/v1/realms/{slug}/machines/{name}", "admin", { sessionOnly: true }],
	["DELETE /api/v1/realms/{slug}/machines/{name}", "admin", { sessionOnly: true }],
	["POST /api/v1/realms/{slug}/machines/{name}/tokens", "admin", { sessionOnly: true }],
	["DELETE /api/v1/realms/{slug}/machines/{name}/tokens/{id}", "admin", { sessionOnly: true }],
	["PUT /api/v1/realms/{slug}/machines/{name}/trusts/{trust}", "admin", { sessionOnly: true }],
	["DELETE /api/v1/realms/{slug}/machines/{name}/trusts/{trust}", "admin", { sessionOnly: true }],
	["POST /api/v1/realms/{slug}/engines/{type}/generate", "viewer"],
	["POST /api/v1/realms/{slug}/engines/{type}/generate", "viewer", { engine: "pki", body: { common_name: "app" } }],
	[
		"POST /api/v1/realms/{slug}/engines/{type}/generate",
		"viewer",
		{ engine: "totp", body: { issuer: "Acme", account: "ada" } },
	],
	[VALIDATE, "viewer"],
	[VALIDATE, "viewer", { engine: "totp", body: { secret: "JBSWY3DPEHPK3PXP", code: "000000" } }],
	["PUT /api/v1/engines/{type}/config", "instance"],
	["DELETE /api/v1/engines/{type}/config", "instance"],
	["PUT /api/v1/realms/{slug}/engines/{type}/config", "instance", { inRealm: true }],
	["DELETE /api/v1/realms/{slug}/engines/{type}/config", "instance", { inRealm: true }],
	["DELETE /api/v1/realms/{slug}/leases/{id}", "admin"],
	["POST /api/v1/leases/revoke", "instance"],
	["POST /api/v1/leases/{id}/abandon", "instance"],
	["POST /api/v1/leases/resume", "instance"],
	["POST /api/v1/backups", "instance"],
	["POST /api/v1/keys/rotate", "instance"],
];

/** Routes without a row although their method changes something, and the reason. */
const BESIDE: Readonly<Record<string, string>> = {
	"POST /api/v1/auth/register": "nobody is signed in; where the instance admin must be, the test below says so",
	"POST /api/v1/auth/login": "opens a session for a person who has just proved who they are",
	"POST /api/v1/auth/jwt": "gives a token to a machine that a JWT has just proved",
	"POST /api/v1/auth/reset": "sets a password for a person who has a code",
	"POST /api/v1/auth/sso/token": "opens a session for a person who has just proved who they are",
	"POST /api/v1/auth/saml/{provider}/acs": "opens a session for a person who has just proved who they are",
	"POST /api/v1/auth/ldap/{provider}/login": "opens a session for a person who has just proved who they are",
	"POST /api/v1/auth/sso/link": "takes a provider: test/sso/linking.test.ts",
	"POST /api/v1/auth/ldap/{provider}/link": "takes a provider: test/sso/linking.test.ts",
	"DELETE /api/v1/auth/identities/{id}": "takes a provider: test/sso/linking.test.ts",
	"POST /api/v1/auth/factors/{id}/confirm": "takes a second factor: factor-changes.test.ts holds it",
	"DELETE /api/v1/auth/factors/{id}": "takes a second factor: factor-changes.test.ts holds it",
	"POST /api/v1/auth/recovery-codes": "takes a second factor: factor-changes.test.ts holds it",
	"POST /api/v1/auth/providers/{name}/test": "changes nothing",
	"POST /api/v1/engines/{type}/ping": "changes nothing",
	"POST /api/v1/encrypt": "changes nothing",
};

let engines: MemoEngines;
let holding: HoldingServer;
let client: Api;
let world: World;
let sessionOf: ReturnType<typeof keepSessions>;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES * 2);
	holding = await startHoldingServer({ env: { SVC_PLUGINS_DIR: engines.folder } });
	client = api(holding.server);
	world = await createWorld(client);
	sessionOf = keepSessions(client);
});
after(async () => {
	await holding.server.close();
	await engines.remove();
});

const everything = () => everythingStored(holding.server.data);

/** A caller, and the access to take away from it. */
interface Victim {
	person: Person;
	/** The caller's token. */
	token: string;
	/** Its id; undefined for a session's. */
	token_id: string | undefined;
	slug: string;
}

/** Changes a flag of the instance admin's account as another program would, behind the server. */
function setAdmin(set: string): void {
	withDatabase(holding.server.data, (db) =>
		db.prepare(`UPDATE account SET ${set} WHERE id = ?`).run(world.people.instance.id),
	);
}

interface End {
	why: string;
	by: "session" | "token";
	status: number;
	take(victim: Victim): Promise<unknown>;
	giveBack?(victim: Victim): Promise<unknown>;
}

const ownerOf = () => ({ token: world.people.owner.token });
const unbind = async ({ slug, person }: Victim) =>
	ok(await client.delete(`/realms/${slug}/policy/bindings/${person.id}`, ownerOf()));
const setDisabled = async ({ person }: Victim, verb: "disable" | "enable") =>
	ok(await client.post(`/users/${person.id}/${verb}`, undefined, { token: world.people.instance.token }));

const SESSION_ENDS: End = {
	why: "its session is ended",
	by: "session",
	status: 401,
	take: async ({ token }) => ok(await client.post("/auth/logout", undefined, { token })),
};
const TOKEN_ENDS: End = {
	why: "its token is revoked",
	by: "token",
	status: 401,
	take: async ({ person, token_id }) => ok(await client.delete(`/auth/tokens/${token_id}`, { token: person.token })),
};

function endsOf(route: string, on: On, { sessionOnly = false, inRealm = false } = {}): End[] {
	const by = sessionOnly ? "session" : "token";
	const disabled: End =
		on === "instance"
			? {
					...{ why: "its account is disabled", by, status: 401 },
					take: async () => setAdmin("disabled_at = '2030-01-01T00:00:00.000Z'"),
					giveBack: async () => setAdmin("disabled_at = NULL"),
				}
			: {
					...{ why: "its account is disabled", by, status: 401 },
					take: (victim) => setDisabled(victim, "disable"),
					giveBack: (victim) => setDisabled(victim, "enable"),
				};
	const hidden = /DELETE .*\{slug\}$|policy\/bindings/.test(route) ? 403 : 404;
	const unbound: End = { why: "its role is gone", by, status: hidden, take: unbind };
	const lowered: End = {
		...{ why: "its role is less", by, status: 403 },
		take: async (victim) => {
			await unbind(victim);
			await bind(client, world.people.owner, victim.slug, victim.person, "viewer");
		},
	};
	// A row that another program wrote grants nothing.
	const altered: End = {
		...{ why: "another program altered its account", by, status: 401 },
		take: async () => setAdmin("instance_admin = 0"),
		giveBack: async () => setAdmin("instance_admin = 1"),
	};
	const deleted: End = {
		...{ why: "the realm is deleted", by, status: 404 },
		take: async ({ slug }) => ok(await client.delete(`/realms/${slug}`, ownerOf())),
	};
	return [
		SESSION_ENDS,
		...(sessionOnly ? [] : [TOKEN_ENDS]),
		disabled,
		...(on === "instance" ? [altered] : []),
		...(on === "viewer" || on === "member" || on === "admin" ? [unbound, deleted] : []),
		...(on === "member" || on === "admin" ? [lowered] : []),
		...(inRealm ? [deleted] : []),
	];
}

/** Makes the request of a row in the table. */
async function requestOf(route: string, options: Options, ...[own, caller]: Parameters<ReturnType<typeof requestTo>>) {
	const { path, body = {} } = await requestTo(route)(own, caller);
	const slug = /\/realms\/([^/]+)/.exec(path)?.[1] ?? own.slug;
	if (options.engine !== undefined)
		return {
			path: path.replace(/engines\/[^/]+/, `engines/${options.engine}`),
			slug,
			raw: JSON.stringify(options.body),
		};
	if (options.bindings)
		return { path, slug, raw: JSON.stringify({ ...body, bindings: [{ realm: slug, role: "viewer" }] }) };
	return { path, slug, raw: JSON.stringify({ ...body, ...(options.body === undefined ? {} : { realm: slug }) }) };
}

for (const [route, on, options = {}] of CHANGES) {
	for (const end of endsOf(route, on, options)) {
		test(`${route} (${[options.engine, on].filter(Boolean).join(", ")}) changes nothing when ${end.why} while it is decided and not made`, async () => {
			const account = on === "instance" ? world.people.instance : world.people.admin;
			const person = { ...account, token: await sessionOf(account) };
			const made = end.by === "session" ? undefined : await apiToken(client, person, "read,write,delete");
			const token = made?.token ?? person.token;
			const isInRealm = options.inRealm || (on !== "own" && on !== "instance");
			const own = isInRealm ? { ...world, slug: await world.freshRealm() } : world;
			const { path, slug, raw } = await requestOf(route, options, own, { person, scopes: "read" });
			const [method = ""] = route.split(" ");
			const victim = { person, token, token_id: made?.id, slug };
			let before: object = {};
			try {
				const { answer } = await holding.during(
					() => client.send(method, path, { token, raw }),
					async () => {
						await end.take(victim);
						before = everything();
					},
				);
				refused(answer, end.status);
				assert.deepEqual(everything(), before);
			} finally {
				await end.giveBack?.(victim);
			}
		});
	}
}

test("what is held and whose maker still has access is made: the door itself refuses nothing", async () => {
	const { owner, admin } = world.people;
	// The rows above have ended sessions of hers.
	const people = { ...world.people, admin: { ...admin, token: await sessionOf(admin) } };
	for (const [route, , options = {}] of CHANGES.filter(([, on]) => on !== "instance")) {
		const person = { ...owner, token: await sessionOf(owner) };
		const { path, raw } = await requestOf(route, options, { ...world, people }, { person, scopes: "read" });
		if (route.endsWith("/auth/password")) continue;
		const send = () => client.send(route.split(" ")[0] ?? "", path, { token: person.token, raw });
		const { answer } = await holding.during(send, async () => undefined);
		assert.ok(answer.status < 300, `${route}: ${answer.text}`);
	}
});

test("an instance admin whose account another program altered registers nobody where only the admin may", async () => {
	await holding.server.restart({ SVC_REGISTRATION_MODE: "admin" });
	const { token } = world.people.instance;
	const body = { email: "late@example.test", password: PASSWORD };
	const { answer, held } = await holding.during(
		() => client.post("/auth/register", body, { token }),
		async () => setAdmin("instance_admin = 0"),
	);
	setAdmin("instance_admin = 1");
	assert.equal(held, "accounts.register");
	refused(answer, 401, "unauthorized");
	ok(await client.post("/auth/register", body, { token }), 201);
});

test("every route that changes something is in the table", () => {
	const changing = ENDPOINTS.filter(({ method }) => method !== "GET").map(({ name }) => name);
	const named = [...CHANGES.map(([route]) => route), ...Object.keys(BESIDE)];
	const without = (routes: string[], others: string[]) => routes.filter((route) => !others.includes(route));
	assert.deepEqual(without(changing, named), [], "add rows to CHANGES, or reasons to BESIDE, for these routes");
	assert.deepEqual(without(named, changing), [], "remove the rows of these routes");
});
