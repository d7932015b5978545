/* The largest answer of every route, made by filling each field with the longest value allowed. Design: §13 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { MEMO_ENGINES } from "../harness/engine-requests.ts";
import { ok } from "../harness/expect.ts";
import { bind, fewAtOnce, invitation, login, PASSWORD, type Person, realm, secret } from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import { type PreparedRequest, requestTo } from "../harness/requests.ts";
import type { User } from "../harness/resources.ts";
import { WITHOUT_PROVIDER } from "../harness/sso-requests.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";
import { ENDPOINTS, type Endpoint } from "../spec/endpoints.ts";

const V1 = "/api/v1";
const KIB = 1024;
/** Most rows on a page, and enough rows for a second page. */
const PAGE = 100;
const MANY = PAGE + 1;
/** Size from which an answer made piece by piece has no content length. */
const WHOLE = 256 * KIB;
/** Takes six times its length in JSON. */
const CONTROL = "\u0001";
const NAME = CONTROL.repeat(255);
const VALUE = CONTROL.repeat(170_000);
const PROMOTED = 1000;

let engines: MemoEngines;
let server: Server;
let world: World;
/** Slugs of realms: one with long keys, one with long values. */
let wide: string;
let heavy: string;

before(async () => {
	engines = await installMemoEngines(MEMO_ENGINES);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder, SVC_LOG_LEVEL: "info" } });
	world = await createWorld(api(server));
	const { owner } = world.people;
	wide = (await realm(world.api, owner)).slug;
	heavy = (await realm(world.api, owner)).slug;
	await fillAccount(owner);
	// One after another: of one account, only four logins may wait.
	for (let count = 0; count < MANY; count++) await login(world.api, owner);
	await fillRealms(owner);
	await fillMachines(owner);
	await fillTrusts();
});
after(async () => {
	await server.close();
	await engines.remove();
});

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
const longKey = (at: number) => `K${at}`.padEnd(255, "x");

/** Gives an account enough realms and tokens to fill a page, and one of its realms as many members. */
async function fillAccount(owner: Person): Promise<void> {
	const { token } = owner;
	const roles = engines.types.map((type) => `${type}:readonly`);
	await Promise.all(
		numbers(MANY).map(async (at) => {
			const body = { slug: `${at}-${"s".repeat(40)}`, name: NAME, description: CONTROL.repeat(2048) };
			ok(await world.api.post("/realms", body, { token }), 201);
			const limits = { realm: world.slug, environment: "staging", engines: roles };
			ok(await world.api.post("/auth/tokens", { name: NAME, scopes: "read", ...limits }, { token }), 201);
			ok(await world.api.post(`/realms/${world.slug}/engines/memo-1/generate`, {}, { token }));
		}),
	);
	await fewAtOnce(numbers(MANY), async (at) => {
		const email = `${at}${"😀".repeat(230)}@example.test`;
		const { id } = ok(await world.api.post<User>("/auth/register", { email, password: PASSWORD, name: NAME }), 201);
		await bind(world.api, owner, world.slug, { id } as Person, "viewer");
	});
}

async function fillRealms(owner: Person): Promise<void> {
	const comment = CONTROL.repeat(1024);
	for (const at of numbers(20)) await secret(world.api, owner, heavy, "OFTEN", `${at}`, { comment });
	for (const environment of ["dev", "prod"])
		for (const at of numbers(3)) await secret(world.api, owner, heavy, `HEAVY_${at}`, VALUE, { environment });
	await Promise.all(numbers(PROMOTED).map((at) => secret(world.api, owner, wide, longKey(at), "v")));
}

/** Makes more machines than a page holds, and as many tokens of the first as it may have. */
async function fillMachines({ token }: Person): Promise<void> {
	const roles = engines.types.map((type) => `${type}:readonly`);
	const limits = { environment: "staging", engines: roles, description: NAME };
	const path = (at: number) => `/realms/${world.slug}/machines/${longMachine(at)}`;
	await fewAtOnce(numbers(MANY), async (at) => {
		ok(await world.api.put(path(at), { role: "viewer", scopes: "read", ...limits }, { token }));
	});
	await fewAtOnce(numbers(PAGE), async () => {
		ok(await world.api.post(`${path(0)}/tokens`, { name: NAME, ttl: "1h" }, { token }), 201);
	});
}

/** As many trusts as a machine may have, each as large as it may be, where its keys are given. */
const TRUSTS = 20;
const TRUST_PATH = () => `${V1}/realms/${world.slug}/machines/${longMachine(0)}/trusts`;
const setTrust =
	(at: number): Full =>
	() => ({
		path: `${TRUST_PATH()}/${`t${at}`.padEnd(64, "x")}`,
		body: {
			issuer: `https://id.example.com/${"i".repeat(480)}`,
			audience: "a".repeat(255),
			claims: { sub: CONTROL.repeat(670) },
			jwks: { keys: [{ ...newKey("ES256", "large").jwk, more: "m".repeat(15 * KIB) }] },
		},
	});

async function fillTrusts(): Promise<void> {
	for (const at of numbers(TRUSTS)) {
		const { path, body } = await setTrust(at)();
		ok(await world.api.send("PUT", path, { token: world.people.owner.token, raw: JSON.stringify(body) }));
	}
}

const longMachine = (at: number) => `m${at}`.padEnd(64, "x");

const provider = () => {
	const role_mappings = numbers(MANY * 4).map((at) => ({
		group: `${at}`.padEnd(2048, "g"),
		realm: wide,
		role: "viewer",
	}));
	return { url: "ldap://127.0.0.1:1", start_tls: true, user_base_dn: "dc=test", role_mappings };
};
const setProvider: Full = () => ({
	path: `${V1}/auth/providers/large`,
	body: { type: "ldap", display_name: "Large", config: provider() },
});
const setConfig: Full = () => ({
	path: `${V1}/engines/memo-3/config`,
	body: { note: "n".repeat(1_000_000), allowed_realms: ["*"] },
});
const setRealmConfig: Full = () => ({
	path: `${V1}/realms/${heavy}/engines/memo-3/config`,
	body: { note: "n".repeat(1_000_000) },
});

type Full = () => PreparedRequest | Promise<PreparedRequest>;

/** Deletes enough realms to fill a page: a deleted realm takes more than a live one. */
async function deletedRealms(): Promise<PreparedRequest> {
	const { token } = world.people.owner;
	await fewAtOnce(numbers(MANY), async (at) => {
		const slug = `x${at}-${"s".repeat(40)}`;
		ok(await world.api.post("/realms", { slug, name: NAME }, { token }), 201);
		ok(await world.api.delete(`/realms/${slug}`, { token }));
	});
	return { path: `${V1}/realms?deleted=true&${page}` };
}

/** Makes as many invitations as an account may have open, each with as many roles as it may give. */
async function invitations(): Promise<PreparedRequest> {
	const { owner } = world.people;
	const into = (at: number) => ({ realm: `${at % PAGE}-${"s".repeat(40)}`, role: "member" });
	const held = rowsOf(await world.api.get(`/invitations?${page}`, { token: owner.token }));
	await fewAtOnce(numbers(PAGE - held), async (at) => {
		const email = `guest${at}${"😀".repeat(230)}@example.test`;
		await invitation(world.api, owner, { email, bindings: numbers(10).map((role) => into(10 * at + role)) });
	});
	return { path: `${V1}/invitations?${page}` };
}

/** Sets the value as the instance admin, then asks for it. */
async function afterSetting(set: Full): Promise<PreparedRequest> {
	const { path, body } = await set();
	const { token } = world.people.instance;
	ok(await world.api.send("PUT", path, { token, raw: JSON.stringify(body) }));
	return { path };
}

const page = `limit=${"9".repeat(9)}&include_total=true`;

/** Requests that replace the usual ones to get the largest answer. */
const FULLEST: Readonly<Record<string, Full>> = {
	[`POST ${V1}/auth/register`]: () => ({
		path: `${V1}/auth/register`,
		body: { email: `new${"😀".repeat(230)}@example.test`, password: PASSWORD, name: NAME },
	}),
	[`GET ${V1}/users`]: () => ({ path: `${V1}/users?${page}` }),
	[`GET ${V1}/users/{id}/sessions`]: () => ({ path: `${V1}/users/${world.people.owner.id}/sessions?${page}` }),
	[`GET ${V1}/users/{id}/tokens`]: () => ({ path: `${V1}/users/${world.people.owner.id}/tokens?${page}` }),
	[`GET ${V1}/invitations`]: invitations,
	[`POST ${V1}/auth/tokens`]: () => ({ path: `${V1}/auth/tokens`, body: { name: NAME, scopes: "read" } }),
	[`GET ${V1}/auth/tokens`]: () => ({ path: `${V1}/auth/tokens?${page}` }),
	[`GET ${V1}/auth/sessions`]: () => ({ path: `${V1}/auth/sessions?${page}` }),
	[`POST ${V1}/realms`]: () => ({
		path: `${V1}/realms`,
		body: { slug: "longest", name: NAME, description: CONTROL.repeat(2048) },
	}),
	[`GET ${V1}/realms`]: deletedRealms,
	[`GET ${V1}/realms/{slug}`]: () => ({ path: `${V1}/realms/0-${"s".repeat(40)}` }),
	[`POST ${V1}/realms/{slug}/secrets`]: () => ({
		path: `${V1}/realms/${heavy}/secrets`,
		body: { key: longKey(0), value: VALUE },
	}),
	[`GET ${V1}/realms/{slug}/secrets`]: () => ({ path: `${V1}/realms/${heavy}/secrets?${page}` }),
	[`GET ${V1}/realms/{slug}/secrets/{key}`]: () => ({ path: `${V1}/realms/${heavy}/secrets/HEAVY_0?env=dev` }),
	[`GET ${V1}/realms/{slug}/secrets/{key}/versions`]: () => ({
		path: `${V1}/realms/${heavy}/secrets/OFTEN/versions?names=true&${page}`,
	}),
	[`GET ${V1}/realms/{slug}/diff`]: () => ({ path: `${V1}/realms/${wide}/diff?from=dev&to=staging` }),
	[`POST ${V1}/realms/{slug}/promote`]: () => ({
		path: `${V1}/realms/${wide}/promote`,
		body: { from: "dev", to: "prod", secrets: numbers(PROMOTED).map((at) => ({ key: longKey(at) })) },
	}),
	[`POST ${V1}/encrypt`]: () => ({ path: `${V1}/encrypt`, body: { value: "v".repeat(256 * KIB) } }),
	[`GET ${V1}/realms/{slug}/policy/bindings`]: () => ({
		path: `${V1}/realms/${world.slug}/policy/bindings?names=true&${page}`,
	}),
	[`GET ${V1}/realms/{slug}/machines`]: () => ({ path: `${V1}/realms/${world.slug}/machines?${page}` }),
	[`GET ${V1}/realms/{slug}/machines/{name}/tokens`]: () => ({
		path: `${V1}/realms/${world.slug}/machines/${longMachine(0)}/tokens?${page}`,
	}),
	[`GET ${V1}/realms/{slug}/machines/{name}/trusts`]: () => ({ path: `${TRUST_PATH()}?${page}` }),
	[`PUT ${V1}/realms/{slug}/machines/{name}/trusts/{trust}`]: setTrust(0),
	[`GET ${V1}/realms/{slug}/machines/{name}/trusts/{trust}`]: async () => ({ path: (await setTrust(0)()).path }),
	[`GET ${V1}/auth/providers/{name}`]: () => afterSetting(setProvider),
	[`PUT ${V1}/auth/providers/{name}`]: setProvider,
	[`GET ${V1}/engines/{type}/config`]: () => afterSetting(setConfig),
	[`PUT ${V1}/engines/{type}/config`]: setConfig,
	[`GET ${V1}/realms/{slug}/engines/{type}/config`]: () => afterSetting(setRealmConfig),
	[`PUT ${V1}/realms/{slug}/engines/{type}/config`]: setRealmConfig,
	[`GET ${V1}/realms/{slug}/leases`]: () => ({ path: `${V1}/realms/${world.slug}/leases?names=true&${page}` }),
	[`GET ${V1}/leases`]: () => ({ path: `${V1}/leases?names=true&${page}` }),
	[`GET ${V1}/eso/{realm}/{key}`]: () => ({ path: `${V1}/eso/${heavy}/HEAVY_0` }),
	[`GET ${V1}/eso/{realm}`]: () => ({ path: `${V1}/eso/${heavy}` }),
	[`GET ${V1}/audit/events`]: () => ({ path: `${V1}/audit/events?names=true&${page}` }),
	[`GET ${V1}/audit/export`]: () => ({ path: `${V1}/audit/export?${page}` }),
};

async function ask({ name, method, auth, success }: Endpoint): Promise<Answer> {
	const who = auth === "instance" ? world.people.instance : world.people.owner;
	const { path, body } = await (FULLEST[name]?.() ?? requestTo(name)(world, { person: who, scopes: "read" }));
	const { stranger, viewer } = world.people;
	const ending: Readonly<Record<string, Person>> = {
		[`POST ${V1}/auth/logout`]: stranger,
		[`POST ${V1}/auth/password`]: viewer,
	};
	const { token } = ending[name] ?? who;
	const answer = await world.api.send(method, path, { token, ...(body && { raw: JSON.stringify(body) }) });
	assert.equal(answer.status, WITHOUT_PROVIDER[name] ?? success, answer.text.slice(0, 200));
	return answer;
}

/** Number of rows of the list in an answer. */
function rowsOf({ body }: Answer): number {
	const lists = Object.values(body as object).filter(Array.isArray);
	assert.equal(lists.length, 1);
	return lists[0]?.length ?? 0;
}

for (const endpoint of ENDPOINTS) {
	const { name, form, kib } = endpoint;
	test(`${name}: the largest answer is ${kib === 0 ? "sent piece by piece" : `at most ${kib} KiB`}`, async () => {
		const answer = await ask(endpoint);
		const bytes = Buffer.byteLength(answer.text);
		const isChunked = answer.headers["transfer-encoding"] === "chunked";
		if (form === "streamed") {
			assert.ok(bytes > WHOLE, `${bytes} bytes are no large answer`);
			assert.ok(isChunked, "nobody knew its length before it began");
		} else if (form !== "file") {
			assert.ok(bytes <= kib * KIB, `${bytes} bytes`);
			assert.ok(!isChunked, "it is not made piece by piece");
		}
		// The server keeps no more versions of one secret, and no more trusts of one machine.
		if (form === "page") assert.equal(rowsOf(answer), /\/(versions|trusts)$/.test(name) ? 20 : PAGE);
	});
}

test("a page has at most a hundred secrets, too", async () => {
	const { token } = world.people.owner;
	const answer = await world.api.get(`/realms/${wide}/secrets?${page}`, { token });
	assert.equal(rowsOf(answer), PAGE);
});
