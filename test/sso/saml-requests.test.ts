/* The signature of requests to a SAML provider: its key is in our metadata and shown nowhere else. Design: §11 */
import assert from "node:assert/strict";
import { type KeyObject, verify, X509Certificate } from "node:crypto";
import { after, before, test } from "node:test";
import { ok } from "../harness/expect.ts";
import { type SamlWorld, startSamlWorld } from "./saml-world.ts";

const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: SamlWorld;

before(async () => {
	world = await startSamlWorld();
	ends.defer(world.close);
	await world.set("corp");
	await world.set("partner");
});

/** Reads the key for signatures from our metadata for a provider. */
async function keyOf(name: string): Promise<KeyObject> {
	const { text } = await world.client.get(`/auth/saml/${name}/metadata`);
	assert.match(text, / AuthnRequestsSigned="true"/);
	const [, certificate = ""] =
		/<md:KeyDescriptor use="signing">.*<ds:X509Certificate>(.*)<\/ds:X509Certificate>/s.exec(text) ?? [];
	return new X509Certificate(Buffer.from(certificate, "base64")).publicKey;
}

/** Verifies the signature of an address as a provider does: over the parameters as they are written there. */
function isSignedBy(location: string, key: KeyObject): boolean {
	const [, signed = ""] = /\?(SAMLRequest=[^&]+&SigAlg=[^&]+)&Signature=[^&]+$/.exec(location) ?? [];
	const { searchParams } = new URL(location);
	assert.equal(searchParams.get("SigAlg"), RSA_SHA256);
	return verify("sha256", Buffer.from(signed), key, Buffer.from(searchParams.get("Signature") ?? "", "base64"));
}

test("each provider gets requests that are signed by the key in its metadata", async () => {
	const { location } = await world.begin("corp");
	const key = await keyOf("corp");
	assert.ok(isSignedBy(location, key));
	assert.ok(!isSignedBy(location, await keyOf("partner")));
	assert.ok(!isSignedBy(location.replace("SAMLRequest=", "SAMLRequest=A"), key));
});

test("the key stays when the provider is set again or the server restarts, and ends with the provider", async () => {
	const key = await keyOf("corp");
	await world.set("corp");
	assert.ok(key.equals(await keyOf("corp")));
	await world.server.restart();
	assert.ok(key.equals(await keyOf("corp")));
	ok(await world.client.delete("/auth/providers/corp", { token: world.root.token }));
	await world.set("corp");
	assert.ok(!key.equals(await keyOf("corp")));
});

test("the instance admin sees settings without the key", async () => {
	const answer = await world.client.get<{ config: object }>("/auth/providers/corp", { token: world.root.token });
	assert.ok("idp_sso_url" in ok(answer).config);
	assert.doesNotMatch(answer.text, /PRIVATE KEY|request_key/);
});
