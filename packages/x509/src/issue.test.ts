import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { file, issue, makeAuthority, NOW, openssl, opensslAuthority, withoutOpenssl } from "../test/openssl.ts";
import { type CertificateRequest, loadAuthority } from "./index.ts";

const { kept, authority } = await makeAuthority();
const root = file("issue-root.pem", kept.certificate);

test("an issued certificate is what the specification says, in OpenSSL's words", { skip: withoutOpenssl }, () => {
	const san = ["app.example.com", "*.example.com", "10.1.2.3", "2001:db8::1"];
	const issued = issue(authority, { san, extended_key_usage: ["server", "client"] });
	const { text } = openssl("x509", "-in", file("leaf.pem", issued.certificate), "-noout", "-text");
	const keyId = /Subject Key Identifier: \n\s+(\S+)\n/.exec(openssl("x509", "-in", root, "-noout", "-text").text)?.[1];
	const expected = [
		"Version: 3 (0x2)",
		"Issuer: O = Acme, CN = Test CA\n",
		"Subject: O = Acme, CN = app.example.com\n",
		"NIST CURVE: P-256",
		"Key Usage: critical\n                Digital Signature, Key Encipherment\n",
		"TLS Web Server Authentication, TLS Web Client Authentication\n",
		"Basic Constraints: critical\n                CA:FALSE\n",
		"DNS:app.example.com, DNS:*.example.com, IP Address:10.1.2.3, IP Address:2001:DB8:0:0:0:0:0:1\n",
		`Authority Key Identifier: \n                ${keyId}\n`,
		`Serial Number:\n            ${issued.serial.match(/../g)?.join(":")}\n`,
	];
	for (const words of expected) {
		assert.ok(text.includes(words), `${words} is missing in ${text}`);
	}
});

test("OpenSSL verifies the chain, strictly, for the purposes of the role only", { skip: withoutOpenssl }, () => {
	const table: [CertificateRequest["extended_key_usage"], number, number][] = [
		[["server"], 0, 2],
		[["client"], 2, 0],
		[["server", "client"], 0, 0],
	];
	for (const [extended_key_usage, asServer, asClient] of table) {
		const leaf = file("leaf.pem", issue(authority, { extended_key_usage }).certificate);
		const verify = (purpose: string) => openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", root, leaf);
		assert.equal(verify("sslserver").status, asServer);
		assert.equal(verify("sslclient").status, asClient);
	}
});

test("OpenSSL finds an expired certificate expired, and a namesake's certificate foreign", {
	skip: withoutOpenssl,
}, async () => {
	const hourMs = 3_600_000;
	const not_before = new Date(NOW.getTime() - 2 * hourMs);
	const expired = issue(authority, { not_before, not_after: new Date(NOW.getTime() - hourMs) });
	const leaf = file("leaf.pem", expired.certificate);
	assert.match(openssl("verify", "-CAfile", root, leaf).text, /certificate has expired/);
	const foreign = issue((await makeAuthority()).authority);
	assert.equal(openssl("verify", "-CAfile", root, file("leaf.pem", foreign.certificate)).status, 2);
});

test("the private key is a readable EC PRIVATE KEY and the certificate's own", { skip: withoutOpenssl }, () => {
	const { certificate, private_key } = issue(authority);
	assert.match(private_key, /^-----BEGIN EC PRIVATE KEY-----\n[^-]+-----END EC PRIVATE KEY-----\n$/);
	assert.match(openssl("ec", "-in", file("leaf.key", private_key), "-noout", "-check").text, /EC Key valid/);
	assert.ok(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(private_key)));
});

test("the answer repeats the request, and its times are those in the certificate", () => {
	const not_before = new Date("2026-01-31T23:59:59.999Z");
	const not_after = new Date("2050-02-01T00:00:00.001Z");
	const issued = issue(authority, { not_before, not_after, san: ["a.example", "::1"] });
	const parsed = new X509Certificate(issued.certificate);
	assert.equal(issued.ca_certificate, kept.certificate);
	assert.equal(issued.common_name, "app.example.com");
	assert.deepEqual(issued.san, ["a.example", "::1"]);
	assert.equal(issued.not_before, "2026-01-31T23:59:59Z");
	assert.equal(issued.expires_at, "2050-02-01T00:00:00Z");
	assert.equal(parsed.validFromDate.toISOString(), "2026-01-31T23:59:59.000Z");
	assert.equal(parsed.validToDate.toISOString(), "2050-02-01T00:00:00.000Z");
});

test("without names there is no such extension, and without organization no such attribute", () => {
	const parsed = new X509Certificate(issue(authority, { san: [], organization: "" }).certificate);
	assert.equal(parsed.subjectAltName, undefined);
	assert.equal(parsed.subject, "CN=app.example.com");
});

test("a serial keeps its leading zeros in the answer and is short and positive in the certificate", () => {
	const table: [string, string][] = [
		[`00${"ab".repeat(15)}`, "AB".repeat(15)],
		[`00007f${"00".repeat(13)}`, `7F${"00".repeat(13)}`],
		[`80${"00".repeat(15)}`, `80${"00".repeat(15)}`],
		["ff".repeat(16), "FF".repeat(16)],
		[`${"00".repeat(15)}01`, "01"],
	];
	for (const [hex, expected] of table) {
		const issued = issue(authority, { randomBytes: () => Buffer.from(hex, "hex") });
		assert.equal(issued.serial, hex);
		assert.equal(new X509Certificate(issued.certificate).serialNumber, expected);
	}
});

test("a thousand certificates are all readable, signed, and carry the serial that was answered", () => {
	const issuer = new X509Certificate(kept.certificate);
	const serials = new Set<string>();
	for (let count = 0; count < 1000; count++) {
		const issued = issue(authority);
		const parsed = new X509Certificate(issued.certificate);
		assert.equal(parsed.serialNumber.padStart(32, "0").toLowerCase(), issued.serial);
		assert.ok(parsed.verify(issuer.publicKey));
		serials.add(issued.serial);
	}
	assert.equal(serials.size, 1000);
});

test("a request that cannot be met is refused with the reason", () => {
	const table: [Partial<CertificateRequest>, string | RegExp][] = [
		[{ common_name: "" }, "common_name is required"],
		[{ organization: "a\nb" }, /^organization .*\bcontrol characters$/],
		[{ san: ["not a name"] }, /^san entry 1 /],
		[{ extended_key_usage: [] }, /^extended_key_usage /],
		[{ not_after: NOW }, /^not_after .*\bnot_before$/],
		[{ not_after: new Date(Number.NaN) }, /^not_after .*\bnot_before$/],
		[{ not_after: new Date("+010000-01-01T00:00:00Z") }, /^not_after .*\b10000$/],
		[{ not_before: new Date("2190-01-01"), not_after: new Date("2190-01-02") }, "CA certificate has expired"],
		[{ randomBytes: () => Buffer.alloc(16) }, /^generating serial: /],
		[{ randomBytes: () => Buffer.alloc(15, 1) }, /^generating serial: /],
	];
	for (const [changes, message] of table) {
		assert.throws(() => issue(authority, changes), { message });
	}
});

test("a name that the authority may not sign is refused before anything is made", { skip: withoutOpenssl }, () => {
	const constrained = loadAuthority(opensslAuthority("prime256v1", "nameConstraints=permitted;DNS:example.com"));
	const randomBytes = () => assert.fail("something was made");
	assert.throws(() => issue(constrained, { san: ["app.example.com", "app.example.org"], randomBytes }), {
		message: /^san entry 2 /,
	});
});

test("a step that fails is named before its reason", () => {
	const broken = { ...authority, signer: { ...authority.signer, privateKey: createPrivateKey(kept.private_key) } };
	Object.assign(broken.signer, { privateKey: "not a key" });
	assert.throws(() => issue(broken), { message: /^signing certificate: / });
	const randomBytes = () => {
		throw new Error("no entropy");
	};
	assert.throws(() => issue(authority, { randomBytes }), { message: /^generating serial: / });
});
