import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { file, issue, LATER, makeAuthority, NOW, openssl, opensslIssue, withoutOpenssl } from "../test/openssl.ts";
import { element } from "./der.ts";
import { createAuthority, loadAuthority, verifyCertificate } from "./index.ts";
import { encodePem } from "./pem.ts";

const { kept, authority } = await makeAuthority();
const leaf = issue(authority);
const leafDer = new X509Certificate(leaf.certificate).raw;
const DAY_MS = 86_400_000;
const NOT_ISSUED = /^certificate .*\bnot issued\b/;
const WRONG_SIGNATURE = /^certificate signature\b/;

function refusal(pem: string, now = NOW): string {
	const verification = verifyCertificate(pem, authority, now);
	assert.ok(!verification.valid);
	return verification.message;
}

function flipped(position: number): string {
	const der = Buffer.from(leafDer);
	der.writeUInt8(der.readUInt8(position) ^ 1, position);
	return encodePem("CERTIFICATE", der);
}

function nested(depth: number): Buffer {
	let der: Buffer = Buffer.alloc(0);
	for (let level = 0; level < depth; level++) {
		der = element(0x30, der);
	}
	return der;
}

test("a certificate of this authority is valid and says what it was issued with", () => {
	const serial = `00${"9a".repeat(15)}`;
	const issued = issue(authority, { common_name: "zoë, *", randomBytes: () => Buffer.from(serial, "hex") });
	assert.deepEqual(verifyCertificate(issued.certificate, authority, NOW), {
		valid: true,
		common_name: "zoë, *",
		serial,
		expires_at: issued.expires_at,
	});
});

test("text around the one block and Windows line ends do not matter", () => {
	const pem = `Certificate:\r\n    Data:\r\n${leaf.certificate.replaceAll("\n", "\r\n")}\r\n`;
	assert.equal(verifyCertificate(pem, authority, NOW).valid, true);
});

test("a text that is not one PEM block is invalid PEM data", () => {
	const [begin = "", ...body] = leaf.certificate.split("\n");
	const texts: [string, unknown][] = [
		["nothing", ""],
		["no PEM", "hello"],
		["no end", [begin, ...body.slice(0, -2)].join("\n")],
		["an empty block", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"],
		["another end", leaf.certificate.replace("END CERTIFICATE", "END X509 CRL")],
		["broken base64", leaf.certificate.replace("M", "!")],
		["base64 cut in the middle of a group", `${begin}\nMIIBA\n-----END CERTIFICATE-----\n`],
		["two blocks", leaf.certificate + leaf.certificate],
		["a key after the certificate", leaf.certificate + leaf.private_key],
		["10 MB of nothing", "A".repeat(10_000_000)],
		["10 MB in a block", `${begin}\n${"A".repeat(10_000_000)}\n-----END CERTIFICATE-----\n`],
		["100,000 beginnings", begin.repeat(100_000)],
		["null", null],
		["a number", 7],
		["an object", { length: 1 }],
	];
	for (const [what, text] of texts) {
		assert.equal(refusal(text as string), "invalid PEM data", what);
	}
});

test("a block that is not one certificate is a parse error", () => {
	const inner = Buffer.concat([Buffer.from("\n"), Buffer.from(leaf.certificate)]);
	const texts: [string, string, RegExp][] = [
		["a private key", leaf.private_key, /^parse error: .*\bnot a certificate$/],
		[
			"a key called a certificate",
			leaf.private_key.replaceAll("EC PRIVATE KEY", "CERTIFICATE"),
			/^parse error: [a-z0-9 ]+$/,
		],
		["zeros", encodePem("CERTIFICATE", Buffer.alloc(1000)), /^parse error: [a-z0-9 ]+$/],
		["text", encodePem("CERTIFICATE", Buffer.alloc(1000, "sand")), /^parse error: [a-z0-9 ]+$/],
		["a certificate cut short", encodePem("CERTIFICATE", leafDer.subarray(0, -1)), /^parse error: [a-z0-9 ]+$/],
		["deep ASN.1", encodePem("CERTIFICATE", nested(10_000)), /^parse error: [a-z0-9 ]+$/],
		["more behind it", encodePem("CERTIFICATE", Buffer.concat([leafDer, Buffer.of(0)])), /^parse error: .*\bmore\b/],
		["PEM inside a block", encodePem("CERTIFICATE", inner), /^parse error: /],
	];
	for (const [what, text, message] of texts) {
		assert.match(refusal(text), message, what);
	}
});

test("a certificate of another authority is refused, also under the same name and key identifier", async () => {
	const stranger = await createAuthority({ common_name: "Other CA", organization: "", now: NOW, randomBytes });
	assert.match(refusal(stranger.certificate), NOT_ISSUED);
	assert.match(refusal(issue(loadAuthority(stranger)).certificate), NOT_ISSUED);
	const other = await makeAuthority();
	assert.match(refusal(other.kept.certificate), WRONG_SIGNATURE);
	assert.match(refusal(issue(other.authority).certificate), NOT_ISSUED);
	const impostor = { ...authority, signer: { ...other.authority.signer } };
	impostor.signer.authorityKeyIdentifier = authority.signer.authorityKeyIdentifier;
	assert.match(refusal(issue(impostor).certificate), WRONG_SIGNATURE);
	impostor.signer.authorityKeyIdentifier = Buffer.alloc(0);
	assert.match(refusal(issue(impostor).certificate), WRONG_SIGNATURE);
});

test("a certificate with any single byte changed is refused", () => {
	for (let position = 0; position < leafDer.length; position++) {
		assert.equal(verifyCertificate(flipped(position), authority, NOW).valid, false, `byte ${position}`);
	}
});

test("a certificate is valid from its first second to its last", () => {
	const { certificate, not_before, expires_at } = issue(authority, { not_before: LATER });
	const start = new Date(not_before);
	const end = new Date(expires_at);
	assert.equal(verifyCertificate(certificate, authority, start).valid, true);
	assert.equal(verifyCertificate(certificate, authority, end).valid, true);
	assert.equal(refusal(certificate, new Date(end.getTime() + 1)), "certificate has expired");
	assert.match(refusal(certificate, new Date(start.getTime() - 1)), /^certificate .*\bnot yet valid$/);
	assert.match(refusal(certificate, new Date(Number.NaN)), /^CA certificate .*\bnot yet valid$/);
});

test("no certificate outlives its authority", async () => {
	const short = await createAuthority({ common_name: "CA", organization: "", now: NOW, years: 1, randomBytes });
	const not_after = new Date(NOW.getTime() + 800 * DAY_MS);
	const loaded = loadAuthority(short);
	const { certificate } = issue(loaded, { not_after });
	const afterwards = new Date(NOW.getTime() + 400 * DAY_MS);
	assert.equal(verifyCertificate(certificate, loaded, NOW).valid, true);
	assert.deepEqual(verifyCertificate(certificate, loaded, afterwards), {
		valid: false,
		message: "CA certificate has expired",
	});
});

test("what OpenSSL signs with the authority's key is held to the same rules", { skip: withoutOpenssl }, () => {
	const deep = nested(4000).toString("hex").match(/../g)?.join(":");
	const table: [string, string, string[], RegExp | undefined][] = [
		["an ordinary one", "keyUsage=critical,digitalSignature", [], undefined],
		["a critical extension nobody knows", "1.2.3.4=critical,ASN1:NULL", [], /^certificate .*\bcritical extension\b/],
		["a harmless extension nobody knows", "1.2.3.4=ASN1:NULL", [], undefined],
		["deep ASN.1 in an extension", `1.2.3.4=DER:${deep}`, [], undefined],
		["a negative serial", "", ["-set_serial", "-5"], /^parse error: .*\bserial number\b/],
		["the serial zero", "", ["-set_serial", "0"], /^parse error: .*\bserial number\b/],
		["SHA-1", "", ["-sha1"], /^certificate .*\bSHA-2$/],
		["SHA-512", "", ["-sha512"], undefined],
	];
	for (const [what, extensions, options, message] of table) {
		const { certificate } = opensslIssue(kept, "device", extensions, ...options);
		const verification = verifyCertificate(certificate, authority, LATER);
		assert.equal(verification.valid, message === undefined, what);
		if (!verification.valid && message !== undefined) assert.match(verification.message, message, what);
	}
});

test("a certificate of an authority that vouches for another key type is refused", { skip: withoutOpenssl }, () => {
	const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
	const key = file("rsa.key", privateKey.export({ type: "pkcs8", format: "pem" }));
	const { text } = openssl("req", "-x509", "-new", "-key", key, "-subj", "/O=Acme/CN=Test CA", "-days", "2");
	assert.match(refusal(text, LATER), NOT_ISSUED);
});

test("a certificate that is signed but not DER is refused", () => {
	const signer = { ...authority.signer, authorityKeyIdentifier: Buffer.from("3080060353040504010a0000", "hex") };
	assert.match(refusal(issue({ ...authority, signer }).certificate), /\bcannot be verified$/);
});

test("the largest certificate that can be issued can be verified", () => {
	const san = Array.from({ length: 100 }, () => `${"a.".repeat(126)}b`);
	const { certificate } = issue(authority, { san, common_name: "😀".repeat(64), organization: "😀".repeat(64) });
	assert.equal(verifyCertificate(certificate, authority, NOW).valid, true);
});
