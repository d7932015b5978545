import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { events } from "../harness/events.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { type Simplesaml, skipWithoutSimplesaml, startSimplesaml } from "../peers/simplesaml.ts";
import { type SamlWorld, startSamlWorld } from "./saml-world.ts";

const PEOPLE = {
	alice: {
		password: "alice's password",
		attributes: { uid: ["a-1"], email: ["alice@corp.test"], displayName: ["Alice"], groups: ["staff", "ops"] },
	},
	bob: {
		password: "bob's password",
		attributes: { uid: ["b-2"], email: ["bob@corp.test"], displayName: ["Bob"], groups: ["staff"] },
	},
	carol: { password: "carol's password", attributes: { uid: ["c-3"], email: ["carol@mail.test"] } },
};
type Name = keyof typeof PEOPLE;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
const options = { skip: skipWithoutSimplesaml };

let world: SamlWorld;
let corp: Simplesaml;
let config: object;

before(async () => {
	if (skipWithoutSimplesaml !== false) return;
	const started = await startSamlWorld();
	ends.defer(started.close);
	world = started;
	corp = await startSimplesaml(PEOPLE);
	ends.defer(corp.stop);
	config = {
		idp_metadata: await corp.metadata(),
		email_attribute: "email",
		name_attribute: "displayName",
		groups_attribute: "groups",
	};
	await world.set("corp", config);
	await world.set("by-mail", { idp_metadata: await corp.metadata(), allowed_domains: ["mail.test"] });
	await corp.trust(await metadata("corp"), await metadata("by-mail"));
});

async function metadata(name: string): Promise<string> {
	const { status, headers, text } = await world.client.get(`/auth/saml/${name}/metadata`);
	assert.equal(status, 200);
	assert.match(String(headers["content-type"]), /^application\/xml/);
	return text;
}

/** Visits the provider and returns to the address to which it sends the browser. */
async function visit(name: string, who: Name) {
	const begun = await world.begin(name);
	const { action, fields } = await corp.signIn(begun.location, who, PEOPLE[who].password);
	assert.equal(action, world.addressOf(name, "acs"));
	return { begun, fields };
}

async function signIn(who: Name, name = "corp") {
	const { begun, fields } = await visit(name, who);
	return world.post(name, fields, begun.cookie);
}

test(
	"signing in at a real provider ends with a session, and the same person twice is one account",
	options,
	async () => {
		const first = ok<Login>(await signIn("alice"));
		fields(first, ["token", "expires_at", "user"]);
		fields(first.user, ["id", "email", "name"]);
		assert.deepEqual([first.user.email, first.user.name], ["alice@corp.test", "Alice"]);
		assert.ok(Math.abs(first.expires_at - Date.now() / 1000 - 24 * 3600) < 120);
		ok(await world.client.get("/realms", { token: first.token }));
		assert.equal(ok<Login>(await signIn("alice")).user.id, first.user.id);
		assert.notEqual(ok<Login>(await signIn("bob")).user.id, first.user.id);
		const logins = await events(world.client, world.root, "type=auth.login");
		assert.deepEqual(
			logins.filter(({ data }) => data.provider === "corp").map(({ data }) => data.method),
			["saml", "saml", "saml"],
		);
	},
);

test("where no attribute has the address, the provider is asked to name people by it", options, async () => {
	const carol = ok<Login>(await signIn("carol", "by-mail"));
	assert.deepEqual([carol.user.email, carol.user.name], ["carol@mail.test", "carol@mail.test"]);
	refused(await signIn("bob", "by-mail"), 409, "conflict");
});

test("a real provider accepts a request only as this server signed it", options, async () => {
	const { location } = await world.begin("corp");
	const attempt = (change: (query: URLSearchParams) => void) => {
		const url = new URL(location);
		change(url.searchParams);
		return corp.signIn(url.href, "alice", PEOPLE.alice.password);
	};
	const request = inflateRawSync(Buffer.from(new URL(location).searchParams.get("SAMLRequest") ?? "", "base64"));
	const altered = request.toString().replace(" Version=", ' ForceAuthn="false" Version=');
	await assert.rejects(
		attempt((query) => query.set("SAMLRequest", deflateRawSync(altered).toString("base64"))),
		/no response/,
		"altered",
	);
	await assert.rejects(
		attempt((query) => {
			query.delete("SigAlg");
			query.delete("Signature");
		}),
		/no response/,
		"without its signature",
	);
	assert.ok("SAMLResponse" in (await attempt(() => undefined)).fields);
});

test("groups of a real provider give roles", options, async () => {
	const { client, root } = world;
	const { slug } = await realm(client, root);
	const role_mappings = [{ group: "ops", realm: slug, role: "viewer" }];
	await world.set("corp", { ...config, role_mappings });
	const alice = ok<Login>(await signIn("alice"));
	const bob = ok<Login>(await signIn("bob"));
	ok(await client.get(`/realms/${slug}`, { token: alice.token }));
	assert.equal((await client.get(`/realms/${slug}`, { token: bob.token })).status, 404);
	await world.set("corp", config);
});

test("the answer for one provider's name is refused at another", options, async () => {
	const { begun, fields } = await visit("corp", "alice");
	const other = await world.begin("by-mail");
	await world.refusals();
	refused(await world.post("by-mail", fields, other.cookie), 401, "unauthorized");
	refused(await world.post("by-mail", fields, `${begun.cookie}; ${other.cookie}`), 401, "unauthorized");
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, ["recipient", "recipient"]);
	ok(await world.post("corp", fields, begun.cookie));
});

test(
	"a real answer that was changed on its way is refused, and one that lost a signature too many is not",
	options,
	async () => {
		const { begun, fields } = await visit("corp", "alice");
		const answer = Buffer.from(String(fields.SAMLResponse), "base64").toString();
		const signature = /<ds:Signature[ >].*?<\/ds:Signature>/s;
		const changed = {
			"another address": answer.replaceAll("alice@corp.test", "bob@corp.test"),
			"a comment": answer.replace(/<\/saml:NameID>/, "<!-- --></saml:NameID>"),
			"another time": answer.replace(/NotOnOrAfter="20/g, 'NotOnOrAfter="21'),
			"no signature": answer.replace(signature, "").replace(signature, ""),
			"another key": answer.replace(/<ds:SignatureValue>.{20}/g, `<ds:SignatureValue>${"A".repeat(20)}`),
			"an assertion too many": answer.replace(/<saml:Assertion .*<\/saml:Assertion>/s, "$&$&"),
		};
		for (const [name, document] of Object.entries(changed)) {
			assert.notEqual(document, answer, name);
			refused(await world.finish("corp", document, begun.cookie), 401, "unauthorized");
		}
		ok(await world.finish("corp", answer.replace(signature, ""), begun.cookie));
	},
);

test("the instance admin can try a provider out", options, async () => {
	const tried = async (name: string) =>
		ok(
			await world.client.post<{ status: string; message: string }>(`/auth/providers/${name}/test`, undefined, {
				token: world.root.token,
			}),
		);
	assert.equal((await tried("corp")).status, "healthy");
	const { idp_metadata } = config as { idp_metadata: string };
	await world.set("old", {
		idp_metadata: idp_metadata.replace(" entityID=", ' validUntil="2020-01-01T00:00:00Z" entityID='),
	});
	const { status, message } = await tried("old");
	assert.equal(status, "unhealthy");
	assert.match(message, /\bexpired\b/);
	refused(await world.client.get("/auth/saml/old/login"), 503, "provider_unavailable");
});
