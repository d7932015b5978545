import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret, secretPath, unique } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Verdict {
	readonly capability: string;
	readonly scope: string;
	readonly allowed: boolean;
	readonly reason: string;
	readonly command: string;
}

interface Explanation {
	readonly user_id: string;
	readonly role: string;
	readonly is_owner: boolean;
	readonly instance_admin: boolean;
	readonly disabled: boolean;
	readonly token: { scopes: string; environment: string; expires_at: string } | null;
	readonly verdicts: Verdict[];
}

let server: Server;
let client: Api;
let root: Person;
let owner: Person;
let people: Record<"admin" | "member" | "viewer", Person>;
let stranger: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	owner = await person(client, "owner");
	slug = (await realm(client, owner)).slug;
	const make = async (role: string) => {
		const who = await person(client, role);
		await bind(client, owner, slug, who, role);
		return who;
	};
	people = { admin: await make("admin"), member: await make("member"), viewer: await make("viewer") };
	stranger = await person(client, "stranger");
});
after(() => server.close());

const ask = (token: string, query = "") => client.get<Explanation>(`/policy/explain?realm=${slug}${query}`, { token });
const explained = async (token: string, query = "") => ok(await ask(token, query));

/** Real attempts in an environment. */
const ATTEMPTS: Record<string, (token: string, env: string) => Promise<number>> = {
	"secrets:read read": async (token, env) => (await client.get(`/realms/${slug}/secrets?env=${env}`, { token })).status,
	"secrets:write write": async (token, environment) =>
		(await client.post(`/realms/${slug}/secrets`, { key: unique("KEY"), value: "v", environment }, { token })).status,
	"secrets:delete delete": async (token, environment) => {
		const key = unique("KEY");
		await secret(client, owner, slug, key, "v", { environment });
		return (await client.delete(`${secretPath(slug, key)}?env=${environment}`, { token })).status;
	},
	"policy:manage write": async (token) => {
		const bound = await client.post(
			`/realms/${slug}/policy/bindings`,
			{ user_id: stranger.id, role: "viewer" },
			{ token },
		);
		if (bound.status === 201)
			ok(await client.delete(`/realms/${slug}/policy/bindings/${stranger.id}`, { token: owner.token }));
		return bound.status;
	},
	"audit:read read": async (token) => (await client.get(`/realms/${slug}/leases`, { token })).status,
};

/** Fails unless the explanation matches what happens. */
async function assertTrue(who: string, token: string): Promise<void> {
	for (const env of ["dev", "prod"]) {
		const { verdicts } = await explained(token, `&env=${env}`);
		for (const [name, attempt] of Object.entries(ATTEMPTS)) {
			const said = verdicts.find(({ capability, scope }) => `${capability} ${scope}` === name);
			// Bindings and leases belong to no environment.
			if (!name.startsWith("secrets:") && said?.reason.includes("environment")) continue;
			const status = await attempt(token, env);
			assert.equal(said?.allowed, status < 300, `${who}, ${name} in ${env}: ${status}, but ${JSON.stringify(said)}`);
		}
	}
}

test("what is said of each role is what happens, with a session and with tokens of every kind", async () => {
	for (const [name, who] of Object.entries({ owner, ...people })) {
		await assertTrue(name, who.token);
		for (const scopes of ["read", "write", "read,write,delete"])
			await assertTrue(`${name} with ${scopes}`, (await apiToken(client, who, scopes)).token);
		await assertTrue(`${name} in the realm`, (await apiToken(client, who, "read,write", { realm: slug })).token);
	}
});

test("the answer says by what somebody may do something, and which command gives them the rest", async () => {
	const own = await explained(owner.token, "&capability=secrets:write");
	assert.partialDeepStrictEqual(own, { role: "admin", is_owner: true, instance_admin: false, token: null });
	assert.deepEqual(
		own.verdicts.map(({ reason, command }) => [/owner/.test(reason), command]),
		[[true, ""]],
	);
	const { id } = people.viewer;
	const [write] = (await explained(people.viewer.token, "&capability=secrets:write")).verdicts;
	assert.match(write?.reason ?? "", /viewer.*secrets:write/);
	assert.equal(write?.command, `svc binding set ${id} member --realm ${slug}`);
	const limits = { realm: slug, expires_at: "2090-01-01T00:00:00.000Z" };
	const { token } = await apiToken(client, people.member, "read", limits);
	const limited = await explained(token, "&capability=secrets:write&env=prod");
	assert.deepEqual(limited.token, { scopes: "read", environment: "", expires_at: limits.expires_at });
	assert.match(limited.verdicts[0]?.reason ?? "", /scope write/);
	assert.equal(limited.verdicts[0]?.command, `svc token create NAME --scopes read,write --realm ${slug} --env prod`);
	const [manage] = (await explained(token, "&capability=audit:read&env=prod")).verdicts;
	assert.deepEqual([manage?.allowed, manage?.command], [true, ""]);
	const writer = await apiToken(client, people.member, "write", { realm: slug });
	const [audit] = (await explained(writer.token, "&capability=audit:read&env=prod")).verdicts;
	assert.equal(audit?.command, `svc token create NAME --scopes read,write --realm ${slug}`);
});

test("a token for one environment learns nothing about the policy, which is outside its purpose", async () => {
	const { token } = await apiToken(client, owner, "read,write,delete", { realm: slug, environment: "prod" });
	refused(await ask(token, "&env=prod"), 403, "insufficient_scope");
});

test("an admin of the realm asks about others, by id and by e-mail, as if these had signed in", async () => {
	const of = async (user: string) => explained(people.admin.token, `&user=${encodeURIComponent(user)}`);
	const { token } = await apiToken(client, people.admin, "read");
	const viewer = await of(people.viewer.id);
	assert.deepEqual(await explained(token, `&user=${people.viewer.email.toUpperCase()}`), viewer);
	assert.deepEqual(viewer.verdicts, (await explained(people.viewer.token)).verdicts);
	ok(await client.post(`/users/${people.viewer.id}/disable`, undefined, { token: root.token }));
	const disabled = await of(people.viewer.id);
	ok(await client.post(`/users/${people.viewer.id}/enable`, undefined, { token: root.token }));
	assert.deepEqual([disabled.disabled, disabled.verdicts.some(({ allowed }) => allowed)], [true, false]);
	assert.equal(disabled.verdicts[0]?.command, `svc users enable ${people.viewer.id}`);
});

test("about somebody without a role in the realm only the instance admin gets more than about nobody", async () => {
	const nobody = await ask(owner.token, "&user=nobody@example.test");
	refused(nobody, 404, "not_found");
	for (const who of [owner, people.admin])
		for (const user of [stranger.id, stranger.email, root.id])
			sameRefusal(await ask(who.token, `&user=${user}`), nobody);
	await bind(client, owner, slug, root, "admin");
	const outside = await explained(root.token, `&user=${stranger.id}`);
	assert.equal(outside.role, "");
	assert.ok(outside.verdicts.every(({ allowed }) => !allowed));
	assert.equal(outside.verdicts[0]?.command, `svc binding add ${stranger.id} viewer --realm ${slug}`);
	const limited = await apiToken(client, root, "read", { realm: slug });
	sameRefusal(await ask(limited.token, `&user=${stranger.id}`), nobody);
	assert.partialDeepStrictEqual(await explained(owner.token, `&user=${root.id}`), {
		instance_admin: true,
		role: "admin",
	});
	ok(await client.delete(`/realms/${slug}/policy/bindings/${root.id}`, { token: owner.token }));
});

test("nobody else learns anything about others, and a stranger not even that the realm exists", async () => {
	for (const user of [owner.email, "nobody@example.test"])
		refused(await ask(people.member.token, `&user=${user}`), 403, "forbidden");
	const writer = await apiToken(client, people.admin, "write");
	refused(await ask(writer.token, `&user=${owner.id}`), 403, "insufficient_scope");
	const unknown = await client.get("/policy/explain?realm=nowhere", { token: stranger.token });
	refused(unknown, 404, "not_found");
	for (const who of [stranger, root]) {
		sameRefusal(await ask(who.token), unknown);
		sameRefusal(await ask(who.token, `&user=${owner.id}`), unknown);
	}
	refused(await client.get("/policy/explain", { token: owner.token }), 400, "missing_field");
	refused(await ask(owner.token, "&capability=everything"), 400, "validation_failed");
	refused(await ask(owner.token, "&env=moon"), 400, "invalid_environment");
});
