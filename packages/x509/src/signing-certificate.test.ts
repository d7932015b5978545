import assert from "node:assert/strict";
import { createPrivateKey, randomBytes, sign, verify, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { file, NOW, openssl, withoutOpenssl } from "../test/openssl.ts";
import { createSigningCertificate } from "./index.ts";

const { certificate, private_key } = await createSigningCertificate({
	common_name: "svc SAML requests",
	now: NOW,
	days: 365,
	randomBytes,
});

test("the certificate carries the key that signs, and is signed with it", () => {
	const parsed = new X509Certificate(certificate);
	const key = createPrivateKey(private_key);
	assert.ok(parsed.checkPrivateKey(key));
	assert.ok(parsed.verify(parsed.publicKey));
	assert.deepEqual(
		[parsed.publicKey.asymmetricKeyType, parsed.publicKey.asymmetricKeyDetails?.modulusLength],
		["rsa", 2048],
	);
	assert.deepEqual([parsed.subject, parsed.issuer, parsed.ca], ["CN=svc SAML requests", "CN=svc SAML requests", false]);
	const days = (parsed.validToDate.getTime() - NOW.getTime()) / 86_400_000;
	assert.deepEqual([Math.round(days), parsed.validFromDate < NOW], [365, true]);
	const message = Buffer.from("a message");
	assert.ok(verify("sha256", message, parsed.publicKey, sign("sha256", message, key)));
});

test("OpenSSL finds it a certificate for signatures, and no authority", { skip: withoutOpenssl }, () => {
	const path = file("signing.pem", certificate);
	const { text } = openssl("x509", "-in", path, "-noout", "-text");
	assert.match(text, /Version: 3 /);
	assert.match(text, /X509v3 Key Usage: critical\s+Digital Signature\n/);
	assert.match(text, /CA:FALSE/);
	assert.equal(openssl("verify", "-CAfile", path, path).status, 0);
});

test("each key is another", async () => {
	const other = await createSigningCertificate({ common_name: "svc", now: NOW, days: 1, randomBytes });
	assert.notEqual(other.private_key, private_key);
});
