import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, test } from "node:test";
import { file, openssl, withoutOpenssl } from "../../packages/x509/test/openssl.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { newest } from "../harness/events.ts";
import { fields, ok, recent, refused } from "../harness/expect.ts";
import { bind, person, realm } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";

interface Credential {
	certificate: string;
	private_key: string;
	ca_certificate: string;
	common_name: string;
	san: string[];
	serial: string;
	not_before: string;
	expires_at: string;
}

const DAY_MS = 86_400_000;

let world: EngineWorld;
before(async () => {
	world = await startEngineWorld();
});
after(() => world.close());

const generate = (params: object, where?: string) => world.generate<Credential>("pki", params, where);
const issue = async (params: object = {}) => ok(await generate({ common_name: "app.example.com", ...params }));
const validate = async (certificate: unknown) => ok(await world.validate("pki", { certificate }));

/** Returns the text of an extension, by OpenSSL's name for it. */
function extension(text: string, name: string): string {
	return new RegExp(`X509v3 ${name}: ?(.*\\n.*)\n`).exec(text)?.[1]?.replace(/\s+/g, " ").trim() ?? "none";
}

test("a certificate has the fields of the specification, and leaves no lease", async () => {
	const answer = await generate({ common_name: "app.example.com" });
	const made = ok(answer);
	const names = ["certificate", "private_key", "ca_certificate", "common_name", "san", "serial"];
	fields(made, [...names, "not_before", "expires_at"]);
	assert.deepEqual([made.common_name, made.san], ["app.example.com", []]);
	assert.match(made.serial, /^[0-9a-f]{32}$/);
	assert.match(made.private_key, /^-----BEGIN EC PRIVATE KEY-----\n/);
	recent(made.not_before);
	for (const instant of [made.not_before, made.expires_at]) assert.match(instant, /^[\d-]+T[\d:]{8}Z$/);
	assert.equal(Date.parse(made.expires_at) - Date.parse(made.not_before), 30 * DAY_MS);
	assert.equal(answer.headers["x-lease-id"], undefined);
	assert.deepEqual(await world.leases(), []);
	const { request_id, ip, session_id, ...data } =
		(await newest(world.client, world.admin, "engine.generate"))?.data ?? {};
	const { serial, common_name, expires_at } = made;
	assert.deepEqual(data, { engine: "pki", role: "server", serial, common_name, expires_at });
	assert.doesNotMatch(world.server.stdout() + world.server.stderr(), /PRIVATE KEY/);
});

/** Spec: ENGINES › Certificate authority engine; `purpose` is what `openssl verify` says of server and client. */
const ROLES = {
	server: { usage: "TLS Web Server Authentication", purpose: [0, 2], longest: "90d", days: 90 },
	client: { usage: "TLS Web Client Authentication", purpose: [2, 0], longest: "30d", days: 30 },
	both: {
		usage: "TLS Web Server Authentication, TLS Web Client Authentication",
		purpose: [0, 0],
		longest: "2160h",
		days: 90,
	},
};

for (const [role, { usage, purpose, longest, days }] of Object.entries(ROLES)) {
	test(`OpenSSL finds in a certificate of the role ${role} what was asked for`, { skip: withoutOpenssl }, async () => {
		const san = ["app.example.com", "*.example.org", "10.0.0.1", "2001:db8::1"];
		const made = await issue({ role, san, ttl: longest });
		assert.deepEqual(made.san, san);
		assert.equal(Date.parse(made.expires_at) - Date.parse(made.not_before), days * DAY_MS);
		const [root, leaf] = [file("root.pem", made.ca_certificate), file("leaf.pem", made.certificate)];
		const key = file("leaf.key", made.private_key);
		const verify = (...options: string[]) =>
			openssl("verify", "-x509_strict", "-CAfile", root, ...options, leaf).status;
		assert.deepEqual([verify("-purpose", "sslserver"), verify("-purpose", "sslclient")], purpose);
		for (const name of ["app.example.com", "any.example.org"]) assert.equal(verify("-verify_hostname", name), 0);
		for (const address of ["10.0.0.1", "2001:db8::1"]) assert.equal(verify("-verify_ip", address), 0);
		assert.deepEqual([verify("-verify_hostname", "example.org"), verify("-verify_ip", "10.0.0.2")], [2, 2]);

		const { text } = openssl("x509", "-in", leaf, "-noout", "-text");
		for (const line of ["Version: 3 (0x2)", "Signature Algorithm: ecdsa-with-SHA256", "ASN1 OID: prime256v1"])
			assert.ok(text.includes(line), line);
		assert.match(text, /Issuer: CN ?= ?svc CA\n/);
		assert.match(text, /Subject: CN ?= ?app\.example\.com\n/);
		assert.equal(extension(text, "Key Usage"), "critical Digital Signature, Key Encipherment");
		assert.equal(extension(text, "Extended Key Usage"), usage);
		assert.equal(extension(text, "Basic Constraints"), "critical CA:FALSE");
		assert.match(
			extension(text, "Subject Alternative Name"),
			/^DNS:app.*org, IP Address:10\.0\.0\.1, IP Address:2001:D/,
		);
		const shown = openssl("x509", "-in", leaf, "-noout", "-serial", "-enddate").text;
		assert.equal(shown.split("\n")[0]?.toLowerCase(), `serial=${made.serial.replace(/^(?:00)+/, "")}`);
		const publicKey = openssl("x509", "-in", leaf, "-noout", "-pubkey").text;
		assert.equal(openssl("pkey", "-in", key, "-pubout").text, publicKey);
	});
}

test("the authority that is made is P-256, signs itself, and may sign certificates and lists for ten years", {
	skip: withoutOpenssl,
}, async () => {
	const { ca_certificate } = await issue();
	const root = file("root.pem", ca_certificate);
	assert.equal(openssl("verify", "-x509_strict", "-CAfile", root, root).status, 0);
	const { text } = openssl("x509", "-in", root, "-noout", "-text");
	assert.match(text, /ASN1 OID: prime256v1/);
	assert.equal(extension(text, "Key Usage"), "critical Certificate Sign, CRL Sign");
	assert.equal(extension(text, "Basic Constraints"), "critical CA:TRUE, pathlen:1");
	const { validFromDate: from, validToDate: to } = new X509Certificate(ca_certificate);
	assert.equal(to.getUTCFullYear() - from.getUTCFullYear(), 10);
	assert.equal(to.toISOString().slice(4), from.toISOString().slice(4));
});

test("every realm has an authority of its own, and a kill of the server keeps it", async () => {
	const { slug } = await realm(world.client, world.admin);
	const first = await issue();
	const other = ok(await generate({ common_name: "app" }, slug));
	assert.notEqual(other.ca_certificate, first.ca_certificate);
	await world.server.kill("SIGKILL");
	await world.server.restart();
	const third = await issue();
	assert.equal(third.ca_certificate, first.ca_certificate);
	assert.equal(ok(await generate({ common_name: "app" }, slug)).ca_certificate, other.ca_certificate);
	for (const { certificate } of [first, third]) assert.equal((await validate(certificate)).valid, true);
	assert.equal((await validate(other.certificate)).valid, false);
});

test("forty at once are forty certificates, which every process of the engine takes for its own", async () => {
	const made = await Promise.all(Array.from({ length: 40 }, () => issue({ ttl: "1h" })));
	assert.equal(new Set(made.map(({ serial }) => serial)).size, 40);
	assert.equal(new Set(made.map(({ private_key }) => private_key)).size, 40);
	const answers = await Promise.all(made.map(({ certificate }) => validate(certificate)));
	assert.ok(answers.every(({ valid }) => valid));
});

const garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const INVALID: [what: string, certificate: (made: Credential) => unknown, message: string | RegExp][] = [
	["nothing", () => undefined, "invalid PEM data"],
	["null", () => null, "invalid PEM data"],
	["an empty text", () => "", "invalid PEM data"],
	["no PEM", () => "certificate", "invalid PEM data"],
	["two certificates", ({ certificate }) => certificate + certificate, "invalid PEM data"],
	["a key", ({ private_key }) => private_key, "parse error: .*certificate"],
	["garbage", () => garbage, /^parse error: [a-z ]+$/],
];
for (const [what, certificate, message] of INVALID) {
	test(`validate of ${what} is answered, not refused`, async () => {
		const answer = await validate(certificate(await issue()));
		assert.equal(answer.valid, false);
		assert.match(answer.message, typeof message === "string" ? new RegExp(`^${message}$`) : message);
	});
}

test("a certificate is valid in the specification's words, and expired when its time is over", async () => {
	const made = await issue({ ttl: "1h", common_name: "long" });
	const message = `cn=long serial=${made.serial} expires=${made.expires_at}`;
	assert.deepEqual(await validate(made.certificate), { valid: true, message });
	assert.deepEqual(await validate(made.certificate.replaceAll("\n", "\r\n")), { valid: true, message });
	const short = await issue({ ttl: "1s" });
	await eventually("it has expired", async () => !(await validate(short.certificate)).valid);
	assert.deepEqual(await validate(short.certificate), { valid: false, message: "certificate has expired" });
});

test("the longest names fit, and what is longer or hidden is refused", async () => {
	const common_name = "ü".repeat(64);
	const made = await issue({ common_name, san: Array(100).fill(`${"a.".repeat(126)}b`) });
	assert.match((await validate(made.certificate)).message, new RegExp(`^cn=${common_name} serial=`));
	const table: [object, string][] = [
		[{ common_name: "x".repeat(65) }, "common_name .*64"],
		...["a\0", "a\r\nb", "a\u001b[31m"].map((name): [object, string] => [
			{ common_name: name },
			"common_name .*control characters",
		]),
		[{ san: Array(101).fill("a") }, "san .*100"],
		[{ san: { 0: "a" } }, "san .*strings"],
		...["", "a b", "a\0", "a\r\nb", 'a"b', "münchen.de", "fe80::1%eth0", "*", "a..b", "10.0.0.1/8"].map(
			(entry): [object, string] => [{ san: ["ok", entry] }, "san entry 2"],
		),
	];
	for (const [params, message] of table) {
		const answer = await world.generate<ErrorBody>("pki", { common_name: "app", ...params });
		refused(answer, 400, "engine_error");
		assert.match(answer.body.error.message, new RegExp(`^invalid params: ${message}\\b`));
	}
	for (const ttl of ["999ms", "1ns", "-1d", "1.5d", "1d1h", "9999999d", "1h 1h"])
		assert.match((await generate({ common_name: "app", ttl })).text, /"invalid ttl: |exceeds max 90d for role server"/);
});

test("any member of a realm gets a certificate of any role, and nobody else does", async () => {
	const [viewer, stranger] = [await person(world.client, "viewer"), await person(world.client, "stranger")];
	await bind(world.client, world.admin, world.slug, viewer, "viewer");
	const path = `/realms/${world.slug}/engines/pki/generate`;
	for (const role of Object.keys(ROLES)) {
		ok(await world.client.post(path, { common_name: "app", role }, { token: viewer.token }));
		const answer = await world.client.post(path, { common_name: "app", role }, { token: stranger.token });
		assert.ok([403, 404].includes(answer.status), answer.text);
	}
	refused(await world.client.post(path, { common_name: "app" }), 401, "unauthorized");
});
