import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type OidcProvider, startOidcProvider } from "../../../../../test/peers/oidc.ts";
import { createOidc } from "./oidc.ts";
import { logIn, newFlow, redirect_uris, settingsOf, visit } from "./testing.ts";

const ALICE = { email: "alice@example.com", email_verified: true, name: "Alice", groups: ["admins", "staff"] };

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let peer: OidcProvider;
const oidc = createOidc();
before(async () => {
	const people = { alice: ALICE, bob: { email: "bob@example.com", email_verified: "true", groups: "staff" } };
	peer = await startOidcProvider({ redirect_uris, people });
	ends.defer(peer.stop);
});

const settings = () => settingsOf(peer, { groups_claim: "groups" });
const alice = () => ({ issuer: peer.issuer, subject: "alice", ...ALICE });

test("a login at a real provider ends with who it was", async () => {
	assert.deepEqual(await logIn(oidc, settings()), alice());
});

test("claims are read from the id_token where the provider puts them there", async () => {
	const other = await startOidcProvider({ redirect_uris, people: { alice: ALICE }, claims_in_id_token: true });
	ends.defer(other.stop);
	const asserted = await logIn(createOidc(), settingsOf(other, { groups_claim: "groups" }));
	assert.deepEqual(asserted, { ...alice(), issuer: other.issuer });
});

test("an address is verified only where the provider says so with a boolean, and one group is a list of one", async () => {
	peer.person = "bob";
	const { email, email_verified, name, groups } = await logIn(oidc, settings());
	peer.person = "alice";
	assert.deepEqual(
		{ email, email_verified, name, groups },
		{
			email: "bob@example.com",
			email_verified: false,
			name: undefined,
			groups: ["staff"],
		},
	);
});

test("groups are read only where the settings name their claim", async () => {
	assert.deepEqual((await logIn(oidc, settingsOf(peer))).groups, []);
});

test("the provider is asked with state, nonce and an S256 challenge", async () => {
	const flow = newFlow();
	const { searchParams } = new URL(await oidc.authorizationUrl("1", settings(), flow));
	assert.equal(searchParams.get("state"), flow.state);
	assert.equal(searchParams.get("nonce"), flow.nonce);
	assert.equal(searchParams.get("code_challenge_method"), "S256");
	assert.match(searchParams.get("code_challenge") ?? "", /^[\w-]{43}$/);
	assert.notEqual(searchParams.get("code_challenge"), flow.verifier);
	assert.equal(searchParams.get("response_type"), "code");
});

test("a provider that is asked for a new sign-in says when it was", async () => {
	const flow = { ...newFlow(), reauthenticate: true };
	const before = Date.now();
	const query = await visit(oidc, settings(), flow);
	const { authenticated_ms = 0, ...who } = await oidc.identify("1", settings(), flow, query, "192.0.2.1");
	assert.deepEqual(who, alice());
	assert.ok(authenticated_ms >= before - 1000 && authenticated_ms <= Date.now(), String(authenticated_ms));
	const { searchParams } = new URL(await oidc.authorizationUrl("1", settings(), newFlow()));
	assert.deepEqual([searchParams.get("prompt"), searchParams.get("max_age")], [null, null]);
});

test("a callback with another state, or none, is refused before the code is used", async () => {
	const flow = newFlow();
	const query = await visit(oidc, settings(), flow);
	const { state: _, ...without } = query;
	for (const wrong of [{ ...query, state: newFlow().state }, without]) {
		await assert.rejects(oidc.identify("1", settings(), flow, wrong, "192.0.2.1"), {
			name: "SsoRefusal",
			reason: "request",
		});
	}
	assert.deepEqual(await oidc.identify("1", settings(), flow, query, "192.0.2.1"), alice());
});

test("a code is good with its own verifier, nonce and address alone", async () => {
	const other = newFlow();
	for (const [wrong, reason] of [
		[{ verifier: other.verifier }, "code"],
		[{ nonce: other.nonce }, "nonce"],
		[{ redirect_uri: `${other.redirect_uri}/x` }, "code"],
	] as const) {
		const flow = newFlow();
		const query = await visit(oidc, settings(), flow);
		await assert.rejects(oidc.identify("1", settings(), { ...flow, ...wrong }, query, "192.0.2.1"), {
			name: "SsoRefusal",
			reason,
		});
	}
});

test("a code is good once, and one that was never given is not", async () => {
	const flow = newFlow();
	const query = await visit(oidc, settings(), flow);
	await oidc.identify("1", settings(), flow, query, "192.0.2.1");
	await assert.rejects(oidc.identify("1", settings(), flow, query, "192.0.2.1"), { reason: "code" });
	await assert.rejects(oidc.identify("1", settings(), flow, { ...query, code: "guessed" }, "192.0.2.1"), {
		reason: "code",
	});
});

test("an error of the provider is a refusal without a word of it", async () => {
	peer.error = "access_denied";
	const flow = newFlow();
	const query = await visit(oidc, settings(), flow);
	peer.error = undefined;
	assert.match(String(query.error_description), /script/);
	const refusal = await oidc.identify("1", settings(), flow, query, "192.0.2.1").catch((error) => error);
	assert.equal(refusal.reason, "provider_error");
	assert.equal(refusal.message, "provider_error");
	assert.equal(refusal.cause, undefined);
});

test("a provider that does not take our secret cannot be used", async () => {
	const wrong = { ...settings(), client_secret: "wrong" };
	const flow = newFlow();
	const query = await visit(oidc, settings(), flow);
	await assert.rejects(createOidc().identify("1", wrong, flow, query, "192.0.2.1"), {
		name: "ProviderUnavailable",
		message: /\bclient_id\b.*\bclient_secret\b/,
	});
});

test("a provider is tested by its discovery document and its keys", async () => {
	await oidc.test(settings());
	await assert.rejects(oidc.test({ ...settings(), ca_cert: undefined }), {
		name: "ProviderUnavailable",
		message: /SIGNATURE|SELF_SIGNED/,
	});
	await assert.rejects(oidc.test({ ...settings(), issuer: `${peer.issuer}/` }), {
		name: "ProviderUnavailable",
		message: /\bissuer\b/,
	});
	await assert.rejects(oidc.test({ ...settings(), issuer: "https://127.0.0.1:1" }), {
		name: "ProviderUnavailable",
		message: /ECONNREFUSED/,
	});
});
