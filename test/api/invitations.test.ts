import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, ours } from "../harness/console.ts";
import { events } from "../harness/events.ts";
import { fields, ok, refused, sameRefusal } from "../harness/expect.ts";
import {
	apiToken,
	bind,
	invitation,
	login,
	PASSWORD,
	type Person,
	person,
	realm,
	unique,
} from "../harness/fixtures.ts";
import type { Invitation, Page, User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let ada: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	ada = await person(client, "ada");
});
after(() => server.close());

const register = (email: string, code: string) =>
	client.post<User>("/auth/register", { email, password: PASSWORD, invitation: code });

/** Uses an invitation and signs in. */
async function join({ email, code }: Pick<Invitation, "email" | "code">): Promise<Person> {
	const { id } = ok(await register(email, code), 201);
	return { id, email, password: PASSWORD, token: await login(client, { email, password: PASSWORD }) };
}

const invite = (who: Person, body: object) => client.post<Invitation>("/invitations", body, { token: who.token });
const list = async ({ token }: Pick<Person, "token">) =>
	ok(await client.get<Page & { invitations: Invitation[] }>("/invitations", { token })).invitations;
const end = ({ token }: Pick<Person, "token">, id: string) => client.delete(`/invitations/${id}`, { token });
const guest = () => `${unique("guest")}@example.test`;

test("registering with an invitation gives its roles immediately, with an event in each realm", async () => {
	const [shop, other] = [await realm(client, ada), await realm(client, ada)];
	const bindings = [
		{ realm: shop.slug, role: "member" },
		{ realm: other.slug, role: "viewer" },
	];
	const made = await invitation(client, ada, { email: " Bob@Example.TEST ", bindings });
	fields(made, ["id", "email", "bindings", "created_by", "created_at", "expires_at", "code"]);
	assert.deepEqual([made.email, made.bindings, made.created_by], ["bob@example.test", bindings, ada.id]);
	assert.match(made.code, /^[\w-]{32}$/);
	const days = (Date.parse(made.expires_at) - Date.now()) / 86_400_000;
	assert.ok(days > 6.99 && days <= 7);
	const { code: _, ...shown } = made;
	assert.partialDeepStrictEqual(await list(ada), [shown]);
	const bob = await join({ ...made, code: ` ${made.code}\n` });
	const { realms } = ok(await client.get<{ realms: { slug: string }[] }>("/realms", { token: bob.token }));
	assert.deepEqual(new Set(realms.map(({ slug }) => slug)), new Set([shop.slug, other.slug]));
	assert.deepEqual(await list(ada), []);
	const recorded = (await events(client, ada, `realm=${shop.slug}`)).map(({ type, data }) => [
		type,
		data.invitation_id,
	]);
	assert.deepEqual(recorded.slice(0, 2), [
		["policy.binding.created", made.id],
		["invitation.created", made.id],
	]);
	const given = await events(client, ada, `realm=${shop.slug}&type=policy.binding.created&names=true`);
	assert.partialDeepStrictEqual(given, [{ people: { [ada.id]: ada.email, [bob.id]: bob.email } }]);
	const everything = await events(client, root, "");
	assert.equal(everything.find(({ type }) => type === "auth.register")?.data.invited_by, ada.id);
	assert.doesNotMatch(JSON.stringify(everything), new RegExp(made.code));
	const { differences } = ok(await client.get<{ differences?: [] }>("/audit/verify", { token: root.token }));
	assert.deepEqual(differences ?? [], []);
});

test("a wrong code, another's address, an ended, a replaced and a used one get the same answer", async () => {
	const used = await invitation(client, ada);
	await join(used);
	const wrong = await register(guest(), "wrong");
	refused(wrong, 401, "invalid_credentials");
	sameRefusal(await register(used.email, used.code), wrong);
	const email = guest();
	const replaced = await invitation(client, ada, { email });
	const current = await invitation(client, ada, { email });
	sameRefusal(await register(email, replaced.code), wrong);
	sameRefusal(await register(guest(), current.code), wrong);
	ok(await end(ada, current.id));
	sameRefusal(await register(email, current.code), wrong);
	const reset = ok(
		await client.post<{ code: string }>(`/users/${ada.id}/reset`, undefined, { token: root.token }),
		201,
	);
	sameRefusal(await register(email, reset.code), wrong);
	const [last] = await events(client, root, "type=auth.login.failed");
	assert.deepEqual([last?.actor, last?.data.method, last?.data.reason], [email, "invitation", "code"]);
});

test("one of two simultaneous uses creates the account", async () => {
	const { email, code } = await invitation(client, ada);
	const answers = await Promise.all([register(email, code), register(email, code)]);
	assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 401]);
});

test("inviting takes a session and policy:manage in each realm; ending an invitation takes a session", async () => {
	const [shop, carl] = [await realm(client, ada), await person(client, "carl")];
	const into = (role = "viewer") => ({ email: guest(), bindings: [{ realm: shop.slug, role }] });
	refused(await invite(carl, into()), 404, "not_found");
	refused(await invite(root, into()), 404, "not_found");
	await bind(client, ada, shop.slug, carl, "member");
	refused(await invite(carl, into()), 403, "forbidden");
	refused(await invite(ada, into("owner")), 400, "invalid_role");
	refused(await invite(ada, { email: carl.email }), 409, "conflict");
	const twice = [shop, shop].map(({ slug }) => ({ realm: slug, role: "viewer" }));
	refused(await invite(ada, { email: guest(), bindings: twice }), 400, "validation_failed");
	const { token } = await apiToken(client, ada, "read,write,delete");
	refused(await invite({ ...ada, token }, into()), 400, "unsupported_operation");
	const { id } = await invitation(client, ada, into());
	refused(await end({ token }, id), 400, "unsupported_operation");
	refused(await end(carl, id), 404, "not_found");
	assert.deepEqual(await list(carl), []);
	assert.ok((await list(root)).some((listed) => listed.id === id));
	ok(await end(root, id));
	refused(await end(ada, id), 404, "not_found");
});

test("a role that the inviter may no longer give is left out and named in the answer; a disabled inviter's invitation fails", async () => {
	const [shop, dora] = [await realm(client, ada), await person(client, "dora")];
	await bind(client, ada, shop.slug, dora, "admin");
	const bindings = [{ realm: shop.slug, role: "admin" }];
	const [lowered, typed] = [await invitation(client, dora, { bindings }), await invitation(client, dora, { bindings })];
	const path = `/realms/${shop.slug}/policy/bindings/${dora.id}`;
	ok(await client.put(path, { role: "member" }, { token: ada.token }));
	const account = ok(await register(lowered.email, lowered.code), 201);
	fields(account, ["id", "email", "name", "created_at", "left_out"]);
	assert.deepEqual((account as { left_out?: object }).left_out, bindings);
	const eve = { id: account.id, token: await login(client, { email: lowered.email, password: PASSWORD }) };
	refused(await client.get(`/realms/${shop.slug}`, { token: eve.token }), 404, "not_found");
	const denied = await events(client, ada, `realm=${shop.slug}&type=access.denied`);
	const recorded = denied.find(({ data }) => data.wanted === "policy:manage");
	assert.deepEqual([recorded?.actor, recorded?.data.granted_by, recorded?.data.reason], [eve.id, dora.id, "forbidden"]);
	const form = { email: typed.email, name: "", password: PASSWORD, again: PASSWORD, invitation: typed.code };
	const page = await ask(server, "POST", "/console/register", ours(server), form);
	assert.match(page.text, new RegExp(`<h1>Your account is made.*<li>admin in ${shop.slug}</li>`, "s"));
	const { email, code } = await invitation(client, dora);
	ok(await client.post(`/users/${dora.id}/disable`, undefined, { token: root.token }));
	ok(await client.post(`/users/${dora.id}/enable`, undefined, { token: root.token }));
	refused(await register(email, code), 401, "invalid_credentials");
});

test("an invitation gives no role in a deleted realm, even after it is restored", async () => {
	const shop = await realm(client, ada);
	const { email, code } = await invitation(client, ada, { bindings: [{ realm: shop.slug, role: "viewer" }] });
	ok(await client.delete(`/realms/${shop.slug}`, { token: ada.token }));
	ok(await client.post(`/realms/${shop.slug}/restore`, {}, { token: ada.token }));
	const frank = await join({ email, code });
	refused(await client.get(`/realms/${shop.slug}`, { token: frank.token }), 404, "not_found");
});

test("where only the instance admin registers people, only an instance admin's invitation makes accounts", async () => {
	const before = await invitation(client, ada);
	for (const mode of ["closed", "admin"]) {
		await server.restart({ SVC_REGISTRATION_MODE: mode });
		refused(await invite(ada, { email: guest() }), 403, "forbidden");
		refused(await register(before.email, before.code), 401, "invalid_credentials");
		const shop = await realm(client, root);
		const bindings = [{ realm: shop.slug, role: "viewer" }];
		const gina = await join(await invitation(client, root, { bindings }));
		ok(await client.get(`/realms/${shop.slug}`, { token: gina.token }));
		ok(await client.put(`/users/${ada.id}`, { instance_admin: true }, { token: root.token }));
		const lowered = await invitation(client, ada);
		ok(await client.put(`/users/${ada.id}`, { instance_admin: false }, { token: root.token }));
		refused(await register(lowered.email, lowered.code), 401, "invalid_credentials");
	}
});

test("where a domain may register, others invite its people only", async () => {
	await server.restart({ SVC_REGISTRATION_MODE: "domain", SVC_REGISTRATION_ALLOWED_DOMAINS: "example.test" });
	await join(await invitation(client, ada));
	refused(await invite(ada, { email: "hugo@elsewhere.test" }), 403, "forbidden");
	await join(await invitation(client, root, { email: "hugo@elsewhere.test" }));
});
