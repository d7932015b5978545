import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from "node:crypto";
import { test } from "node:test";
import {
	file,
	issue,
	makeAuthority,
	NOW,
	openssl,
	opensslAuthority,
	opensslIssue,
	withoutOpenssl,
} from "../test/openssl.ts";
import { createAuthority, type KeptAuthority, loadAuthority } from "./index.ts";

const CA_EXTENSIONS = "basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\nkeyUsage=critical,keyCertSign";

test("a new authority is what the specification says, in OpenSSL's words", { skip: withoutOpenssl }, async () => {
	const { kept } = await makeAuthority();
	const path = file("ca.pem", kept.certificate);
	const { text } = openssl("x509", "-in", path, "-noout", "-text");
	const expected = [
		/Version: 3/,
		/Signature Algorithm: ecdsa-with-SHA256/,
		/Issuer: O = Acme, CN = Test CA\n/,
		/Subject: O = Acme, CN = Test CA\n/,
		/NIST CURVE: P-256/,
		/Basic Constraints: critical\n\s+CA:TRUE, pathlen:1\n/,
		/Key Usage: critical\n\s+Certificate Sign, CRL Sign\n/,
		/Subject Key Identifier: \n\s+([0-9A-F]{2}:){19}[0-9A-F]{2}\n/,
	];
	for (const pattern of expected) {
		assert.match(text, pattern);
	}
	const verified = openssl("verify", "-x509_strict", "-check_ss_sig", "-CAfile", path, path);
	assert.equal(verified.status, 0, verified.text);
	assert.match(kept.private_key, /^-----BEGIN EC PRIVATE KEY-----\n/);
	assert.match(openssl("ec", "-in", file("ca.key", kept.private_key), "-noout", "-check").text, /EC Key valid/);
});

test("a new authority is valid for ten years from now, also across 2050", async () => {
	const input = { common_name: "CA", organization: "", randomBytes };
	const kept = await createAuthority({ ...input, now: new Date("2045-06-01T12:00:00.9Z") });
	const { notBefore, notAfter } = loadAuthority(kept);
	assert.equal(notBefore.toISOString(), "2045-06-01T12:00:00.000Z");
	assert.equal(notAfter.toISOString(), "2055-06-01T12:00:00.000Z");
	const short = await createAuthority({ ...input, now: NOW, years: 1 });
	assert.equal(loadAuthority(short).notAfter.getUTCFullYear(), NOW.getUTCFullYear() + 1);
});

test("a new authority keeps a serial whose top bit is set positive, and one with leading zeros short", async () => {
	for (const [hex, expected] of [
		[`ff${"00".repeat(15)}`, `FF${"00".repeat(15)}`],
		[`0000${"11".repeat(14)}`, "11".repeat(14)],
	] as const) {
		const input = { common_name: "CA", organization: "", now: NOW, randomBytes: () => Buffer.from(hex, "hex") };
		const { certificate } = await createAuthority(input);
		assert.equal(new X509Certificate(certificate).serialNumber, expected);
	}
});

test("an authority allows one more below it and no second", { skip: withoutOpenssl }, async () => {
	const { kept } = await makeAuthority();
	const first = opensslIssue(kept, "first", CA_EXTENSIONS);
	const second = opensslIssue(first, "second", CA_EXTENSIONS);
	const root = file("root.pem", kept.certificate);
	const chain = file("chain.pem", first.certificate + second.certificate);
	const verify = (signer: KeptAuthority) => {
		const leaf = file("leaf.pem", issue(loadAuthority(signer)).certificate);
		return openssl("verify", "-CAfile", root, "-untrusted", chain, leaf);
	};
	assert.equal(verify(kept).status, 0);
	assert.equal(verify(first).status, 0);
	assert.match(verify(second).text, /path length constraint exceeded/);
});

test("an authority made elsewhere signs with its own curve's hash", { skip: withoutOpenssl }, () => {
	for (const [curve, hash] of [
		["prime256v1", "SHA256"],
		["secp384r1", "SHA384"],
		["secp521r1", "SHA512"],
	] as const) {
		const kept = opensslAuthority(curve, "subjectKeyIdentifier=none");
		const leaf = file("leaf.pem", issue(loadAuthority(kept)).certificate);
		const verified = openssl("verify", "-CAfile", file("ca.pem", kept.certificate), leaf);
		assert.equal(verified.status, 0, verified.text);
		const { text } = openssl("x509", "-in", leaf, "-noout", "-text");
		assert.match(text, new RegExp(`ecdsa-with-${hash}`));
		assert.doesNotMatch(text, /Authority Key Identifier/, "an authority without an identifier has none to repeat");
	}
});

test("an authority's key may be PKCS #8, and text around its certificate is ignored", async () => {
	const { kept } = await makeAuthority();
	const private_key = createPrivateKey(kept.private_key).export({ type: "pkcs8", format: "pem" });
	const loaded = loadAuthority({ certificate: `subject=CN = x\r\n${kept.certificate}\n\n`, private_key });
	assert.equal(loaded.certificate, kept.certificate);
});

test("an authority that cannot sign is refused with the reason and nothing of its content", async () => {
	const { kept, authority } = await makeAuthority();
	const { kept: other } = await makeAuthority();
	const leaf = issue(authority);
	const pkcs8 = { type: "pkcs8", format: "pem" } as const;
	const ed25519 = generateKeyPairSync("ed25519").privateKey.export(pkcs8);
	const secp256k1 = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey.export(pkcs8);
	const notPem = /^CA certificate .*\bPEM\b/;
	const notKey = /^CA private key .*\bPEM\b/;
	const notCurve = /^CA private key .*\bP-256\b/;
	const garbage = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`;
	const table: [KeptAuthority, RegExp][] = [
		[{ ...kept, certificate: "" }, notPem],
		[{ ...kept, certificate: "not PEM" }, notPem],
		[{ ...kept, certificate: kept.private_key }, notPem],
		[{ ...kept, certificate: kept.certificate + other.certificate }, notPem],
		[{ ...kept, certificate: garbage("CERTIFICATE") }, /^CA certificate .*\bparsed$/],
		[{ ...kept, private_key: "" }, notKey],
		[{ ...kept, private_key: kept.certificate }, notKey],
		[{ ...kept, private_key: garbage("EC PRIVATE KEY") }, /^CA private key .*\bparsed$/],
		[{ ...kept, private_key: ed25519 }, notCurve],
		[{ ...kept, private_key: secp256k1 }, notCurve],
		[{ ...kept, private_key: other.private_key }, /^CA certificate and CA private key\b/],
		[leaf, /^CA certificate .*\bmay sign\b/],
	];
	for (const [bad, reason] of table) {
		assert.throws(
			() => loadAuthority(bad),
			({ message }: Error) => reason.test(message) && !/[\w+/]{30}/.test(message),
			String(reason),
		);
	}
});

test("an authority's certificate must be an authority's, and say nothing that is not understood", {
	skip: withoutOpenssl,
}, () => {
	const notAuthority = /^CA certificate .*\bmay sign\b/;
	const table: [string[], RegExp][] = [
		[["keyUsage=critical,cRLSign"], notAuthority],
		[["basicConstraints=CA:FALSE"], notAuthority],
		[["1.2.3.4=critical,ASN1:NULL"], /^CA certificate .*\bcritical extension\b/],
		[["nameConstraints=permitted;DNS:.example.com"], /^CA certificate .*\bname constraints\b.*\bhost name\b/],
	];
	for (const [extensions, message] of table) {
		const kept = opensslAuthority("prime256v1", ...extensions);
		assert.throws(() => loadAuthority(kept), { message });
	}
});

test("an authority must have a subject", { skip: withoutOpenssl }, () => {
	const private_key = openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout").text;
	const key = file("nameless.key", private_key);
	const { text } = openssl("req", "-x509", "-new", "-key", key, "-subj", "/", "-days", "2");
	const kept = { certificate: text.slice(text.indexOf("-----BEGIN")), private_key };
	assert.throws(() => loadAuthority(kept), { message: /^CA certificate .*\bsubject\b/ });
});
