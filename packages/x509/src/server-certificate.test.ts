import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { file, NOW, openssl, withoutOpenssl } from "../test/openssl.ts";
import { certificateFingerprint, createServerCertificate, loadAuthority } from "./index.ts";

const names = ["localhost", "svc.internal", "127.0.0.1", "::1"];
const made = createServerCertificate({ names, now: NOW, days: 365, randomBytes });
const withoutCurl =
	spawnSync("curl", ["--version"]).error === undefined ? false : "curl is not installed: apt-get install curl";

const server = createServer({ cert: made.certificate, key: made.private_key }, (_request, response) =>
	response.end("hello"),
);
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
after(() => server.close());

async function fetchStatus(host: string, ca: string): Promise<number | undefined> {
	const request = get({ host: "127.0.0.1", port, ca, servername: host, agent: false });
	const [response] = await once(request, "response");
	response.resume();
	return response.statusCode;
}

test("a client that pins the certificate reaches the server under each of its names", async () => {
	assert.equal(await fetchStatus("localhost", made.certificate), 200);
	assert.equal(await fetchStatus("svc.internal", made.certificate), 200);
	assert.equal(await fetchStatus("", made.certificate), 200, "by address");
});

test("a client is refused under another name, and with another server's certificate pinned", async () => {
	const other = createServerCertificate({ names, now: NOW, days: 365, randomBytes });
	await assert.rejects(fetchStatus("example.com", made.certificate), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
	await assert.rejects(fetchStatus("localhost", other.certificate), { code: /SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE/ });
});

test("curl accepts the certificate as its only authority", { skip: withoutCurl }, async () => {
	const cacert = file("server.pem", made.certificate);
	const options = ["--silent", "--cacert", cacert, "--noproxy", "*"];
	const { stdout } = await promisify(execFile)("curl", [...options, `https://127.0.0.1:${port}/`]);
	assert.equal(stdout, "hello");
});

test("OpenSSL finds it a server's certificate with its names, and no authority", { skip: withoutOpenssl }, () => {
	const path = file("server.pem", made.certificate);
	const { text } = openssl("x509", "-in", path, "-noout", "-text");
	assert.match(text, /DNS:localhost, DNS:svc.internal, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1\n/);
	assert.match(text, /CA:FALSE/);
	const verify = (purpose: string) => openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", path, path);
	assert.equal(verify("sslserver").status, 0);
	assert.notEqual(verify("sslclient").status, 0);
});

test("it is valid from five minutes ago for the days asked for", () => {
	const now = new Date("2026-05-05T12:00:00Z");
	const parsed = new X509Certificate(createServerCertificate({ names, now, days: 2, randomBytes }).certificate);
	assert.equal(parsed.validFromDate.toISOString(), "2026-05-05T11:55:00.000Z");
	assert.equal(parsed.validToDate.toISOString(), "2026-05-07T12:00:00.000Z");
});

test("the fingerprint is the one that OpenSSL prints", { skip: withoutOpenssl }, () => {
	const { text } = openssl("x509", "-in", file("server.pem", made.certificate), "-noout", "-fingerprint", "-sha256");
	assert.equal(text.trim().split("=")[1], made.fingerprint);
	assert.match(made.fingerprint, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
	assert.equal(certificateFingerprint(made.certificate), made.fingerprint);
});

test("a text without a certificate has no fingerprint", () => {
	const message = /^certificate .*\bPEM\b/;
	for (const pem of ["", "hello", made.private_key]) {
		assert.throws(() => certificateFingerprint(pem), { message });
	}
});

test("it vouches for nothing but itself", () => {
	assert.throws(() => loadAuthority(made), { message: /\bmay sign\b/ });
});

test("names that no certificate can hold are refused", () => {
	const create = (bad: string[]) => createServerCertificate({ names: bad, now: NOW, days: 1, randomBytes });
	assert.throws(() => create([]), { message: /^names / });
	assert.throws(() => create(["a b"]), { message: /^san entry 1 / });
});
