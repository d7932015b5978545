import assert from "node:assert/strict";
import { constants, createHash, generateKeyPairSync, type KeyObject, type SignKeyObjectInput, sign } from "node:crypto";
import { after, before, test } from "node:test";
import { type FakeProvider, type Json, type Lie, startFakeProvider } from "../../../../../test/peers/oidc-fake.ts";
import { createOidc } from "./oidc.ts";
import { logIn, settingsOf } from "./testing.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let peer: FakeProvider;
before(async () => {
	peer = await startFakeProvider();
	ends.defer(peer.stop);
});

/** A login at a provider that was never asked before. */
async function subjectWith(lie: Lie): Promise<string> {
	peer.lie = lie;
	const { subject } = await logIn(createOidc(), settingsOf(peer));
	return subject;
}

const pss = (saltLength: number) => ({ padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
const ieee = { dsaEncoding: "ieee-p1363" } as const;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });

const ALGORITHMS: [
	alg: string,
	key: { privateKey: KeyObject; publicKey: KeyObject },
	hash: string,
	how: Partial<SignKeyObjectInput>,
][] = [
	["RS256", rsa, "sha256", {}],
	["RS512", rsa, "sha512", {}],
	["PS384", rsa, "sha384", pss(48)],
	["ES384", generateKeyPairSync("ec", { namedCurve: "P-384" }), "sha384", ieee],
	["ES512", generateKeyPairSync("ec", { namedCurve: "P-521" }), "sha512", ieee],
	["EdDSA", generateKeyPairSync("ed25519"), "sha512", {}],
];

for (const [alg, { privateKey, publicKey }, hash, how] of ALGORITHMS) {
	test(`an id_token that is signed with ${alg} is taken, with the access token that it names`, async () => {
		const access_token = "an access token";
		const digest = createHash(hash).update(access_token).digest();
		const lie = (at_hash: string): Lie => ({
			metadata: (truth) => ({ ...truth, id_token_signing_alg_values_supported: [alg] }),
			keys: () => [{ ...publicKey.export({ format: "jwk" }), kid: "other" }],
			header: () => ({ alg, kid: "other" }),
			claims: (truth) => ({ ...truth, at_hash }),
			sign: (text) => sign(alg === "EdDSA" ? null : hash, Buffer.from(text), { key: privateKey, ...how }),
			token: (truth: Json) => ({ ...truth, access_token }),
		});
		assert.equal(await subjectWith(lie(digest.subarray(0, digest.length / 2).toString("base64url"))), "mallory");
		await assert.rejects(subjectWith(lie(digest.toString("base64url"))), { reason: "malformed" });
	});
}

test("the secret is sent in the form where the provider takes it nowhere else", async () => {
	const takes_form = true;
	const announcing =
		(...methods: string[]) =>
		(truth: Json) => ({ ...truth, token_endpoint_auth_methods_supported: methods });
	const unavailable = { name: "ProviderUnavailable", message: /\bclient_secret\b/ };
	assert.equal(await subjectWith({ takes_form, metadata: announcing("client_secret_post") }), "mallory");
	assert.equal(await subjectWith({ metadata: announcing("client_secret_post", "client_secret_basic") }), "mallory");
	assert.equal(await subjectWith({ metadata: announcing() }), "mallory");
	await assert.rejects(subjectWith({ takes_form }), unavailable);
});

test("a provider that does not name itself in its answers need not, and is not taken for another", async () => {
	const metadata = ({ authorization_response_iss_parameter_supported: _, ...truth }: Json) => truth;
	const without = ({ code = "", state = "" }) => ({ code, state });
	assert.equal(await subjectWith({ metadata, callback: without }), "mallory");
	const wrong = (truth: Record<string, string>) => ({ ...truth, iss: "https://other.example" });
	await assert.rejects(subjectWith({ metadata, callback: wrong }), { reason: "issuer" });
});

test("a provider without userinfo is asked for none", async () => {
	const metadata = ({ userinfo_endpoint: _, ...truth }: Json) => truth;
	const asked = peer.asked.length;
	assert.equal(await subjectWith({ metadata, claims: (truth) => ({ ...truth, email: undefined }) }), "mallory");
	assert.ok(!peer.asked.slice(asked).includes("userinfo"));
});

test("nothing is asked for that the id_token has said", async () => {
	const asked = peer.asked.length;
	await subjectWith({});
	assert.deepEqual(peer.asked.slice(asked), ["discovery", "authorize", "token", "keys"]);
});
