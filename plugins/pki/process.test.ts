/* The engine as the server starts it: a separate process, few permissions, an environment built from nothing; OpenSSL is the judge. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { createAuthority } from "@svc/x509";
import { file, openssl, withoutOpenssl } from "../../packages/x509/test/openssl.ts";
import { readSettings } from "./settings.ts";

const ROOT = join(import.meta.dirname, "../..");
const FLAGS = ["--permission", "--disallow-code-generation-from-strings", "--disable-proto=delete"];

const kept = await createAuthority({ common_name: "Kept CA", organization: "", now: new Date(), randomBytes });
const KEPT_ENV = { SVC_PKI_CA_CERT: kept.certificate, SVC_PKI_CA_KEY: kept.private_key };

/** Runs the engine until it has answered the requests. */
function serve(env: Record<string, string>, ...requests: [method: string, params?: object][]) {
	const input = requests.map(([method, params = {}]) => `${JSON.stringify({ method, params })}\n`).join("");
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[...FLAGS, `--allow-fs-read=${ROOT}`, join(ROOT, "plugins/pki/main.ts")],
		{ input, env, encoding: "utf8", timeout: 120_000 },
	);
	const lines = stdout.split("\n").filter((line) => line !== "");
	return { status, stderr, responses: lines.map((line) => JSON.parse(line)) };
}

test("without a CA one is made for the life of the process, with a warning on standard error", () => {
	const { status, stderr, responses } = serve({}, ["describe"], ["ping"], ["generate", { common_name: "x" }]);
	assert.equal(status, 0);
	assert.deepEqual(responses[0].data.capabilities, ["secret_generation", "secret_validation"]);
	assert.deepEqual(responses[1], { data: { status: "healthy" } });
	assert.match(responses[2].data.ca_certificate, /^-----BEGIN CERTIFICATE-----\n/);
	assert.match(stderr, /^pki: warning: SVC_PKI_CA_CERT and SVC_PKI_CA_KEY .*\n$/);
});

test("where the server says so the CA comes with each request, and none is made", async () => {
	const env = { SVC_PKI_CA_PER_REQUEST: "true" };
	const other = await createAuthority({ common_name: "Other", organization: "", now: new Date(), randomBytes });
	const as = (ca: typeof kept) => ({ _authority: { ca_certificate: ca.certificate, ca_private_key: ca.private_key } });
	const first = serve(
		env,
		["ping"],
		["ping", as(kept)],
		["generate", { common_name: "x", ...as(kept) }],
		["generate", { common_name: "x", ...as(other) }],
		["generate", { common_name: "x" }],
		["generate", { common_name: "x", _authority: { ca_certificate: 5 } }],
		["generate", { common_name: "x", _authority: { ...as(kept)._authority, ca_private_key: "hunter2" } }],
	);
	const [ping, pinged, one, two, none, no, broken] = first.responses;
	for (const healthy of [ping, pinged]) assert.deepEqual(healthy, { data: { status: "healthy" } });
	assert.deepEqual([one.data.ca_certificate, two.data.ca_certificate], [kept.certificate, other.certificate]);
	for (const refused of [none, no]) assert.deepEqual(refused, { error: "CA not loaded" });
	assert.match(broken.error, /^CA private key\b/);
	const { certificate } = one.data;
	const second = serve(env, ["validate", { certificate, ...as(kept) }], ["validate", { certificate, ...as(other) }]);
	assert.deepEqual(
		second.responses.map(({ data }) => data.valid),
		[true, false],
	);
	assert.equal(first.stderr + second.stderr, "");
	const given = serve(KEPT_ENV, ["generate", { common_name: "x", ...as(other) }]);
	assert.equal(given.responses[0].data.ca_certificate, kept.certificate, "elsewhere it is nothing");
});

test("a CA that is given signs from one process to the next, without a word", () => {
	const first = serve(KEPT_ENV, ["generate", { common_name: "x" }]);
	const { certificate, ca_certificate } = first.responses[0].data;
	assert.equal(ca_certificate, kept.certificate);
	const second = serve(KEPT_ENV, ["validate", { certificate }]);
	assert.deepEqual([first.stderr, second.stderr, second.responses[0].data.valid], ["", "", true]);
	for (const SVC_PKI_CA_KEY of ["", undefined]) {
		const { responses, stderr } = serve(
			{ SVC_PKI_CA_CERT: kept.certificate, ...(SVC_PKI_CA_KEY === undefined ? {} : { SVC_PKI_CA_KEY }) },
			["validate", { certificate }],
		);
		assert.equal(responses[0].data.valid, false, "half a CA is none");
		assert.match(stderr, /ephemeral CA/);
	}
});

test("settings that cannot be used end the process with 1 and a message that holds nothing of them", async () => {
	const other = await createAuthority({ common_name: "Other", organization: "", now: new Date(), randomBytes });
	const garbage = "-----BEGIN CERTIFICATE-----\nhunter2h\n-----END CERTIFICATE-----\n";
	const table: [Record<string, string>, RegExp][] = [
		[{ ...KEPT_ENV, SVC_PKI_CA_CERT: "hunter2" }, /\bCA certificate\b.*\bPEM\b/],
		[{ ...KEPT_ENV, SVC_PKI_CA_CERT: garbage }, /\bCA certificate\b.*\bparsed\b/],
		[{ ...KEPT_ENV, SVC_PKI_CA_KEY: "hunter2" }, /\bCA private key\b.*\bPEM\b/],
		[
			{ ...KEPT_ENV, SVC_PKI_CA_KEY: garbage.replaceAll("CERTIFICATE", "PRIVATE KEY") },
			/\bCA private key\b.*\bparsed\b/,
		],
		[{ ...KEPT_ENV, SVC_PKI_CA_KEY: other.private_key }, /\bbelong together\b/],
		[{ ...KEPT_ENV, SVC_PKI_ORGANIZATION: "hunter2\n" }, /\bSVC_PKI_ORGANIZATION\b.*\bcontrol characters\b/],
		[{ SVC_PKI_ORGANIZATION: "hunter2".repeat(10) }, /\bSVC_PKI_ORGANIZATION\b.*\b64\b/],
	];
	for (const [env, message] of table) {
		const { status, stderr, responses } = serve(env, ["ping"]);
		assert.deepEqual([status, responses], [1, []]);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2|\n./);
	}
});

/** Makes a CA with OpenSSL, as the engine's environment. */
function opensslCa(SVC_PKI_CA_KEY: string, ...extensions: string[]) {
	const options = extensions.flatMap((extension) => ["-addext", extension]);
	const key = file("own.key", SVC_PKI_CA_KEY);
	const { text } = openssl("req", "-x509", "-new", "-key", key, "-subj", "/CN=Own CA", "-days", "100", ...options);
	return { SVC_PKI_CA_CERT: text.slice(text.indexOf("-----BEGIN")), SVC_PKI_CA_KEY };
}

test("a CA that may not sign, or asks for what is not understood, ends the process with 1 and the reason", {
	skip: withoutOpenssl,
}, () => {
	const table: [extension: string, message: RegExp][] = [
		["keyUsage=critical,digitalSignature", /\bCA certificate\b.*\bmay sign\b/],
		["1.2.3.4=critical,ASN1:NULL", /\bCA certificate\b.*\bcritical extension\b.*\n$/],
		["nameConstraints=critical,permitted;DNS:.hunter2", /\bCA certificate\b.*\bname constraints\b/],
	];
	for (const [extension, message] of table) {
		const { status, stderr, responses } = serve(opensslCa(kept.private_key, extension), ["ping"]);
		assert.deepEqual([status, responses], [1, []]);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2|\n./);
	}
});

test("a CA for a few names issues certificates for these only, and makes no others valid", {
	skip: withoutOpenssl,
}, () => {
	const free = opensslCa(kept.private_key);
	const env = opensslCa(kept.private_key, "nameConstraints=critical,permitted;DNS:example.com");
	const [good, bad, named] = serve(
		env,
		["generate", { common_name: "app", san: ["app.example.com", "10.0.0.1"] }],
		["generate", { common_name: "app", san: ["app.example.com", "hunter2.example.org"] }],
		["generate", { common_name: "hunter2.example.org" }],
	).responses;
	assert.match(bad.error, /^san entry 2 .*\bname constraints\b/);
	assert.match(named.error, /^common_name .*\bname constraints\b/);
	const [foreign] = serve(free, ["generate", { common_name: "app", san: ["app.example.org"] }]).responses;
	const verdicts = serve(env, ["validate", good.data], ["validate", foreign.data]).responses;
	assert.equal(verdicts[0].data.valid, true);
	assert.equal(verdicts[1].data.valid, false);
	assert.match(verdicts[1].data.message, /^san entry 1 .*\bname constraints\b/);
});

test("an engine that could not make its CA answers that none is loaded", async () => {
	const said: string[] = [];
	const make = () => Promise.reject(new Error("no entropy"));
	const { authority } = await readSettings({}, (text) => said.push(text), make);
	assert.equal(authority, undefined);
	assert.match(said.join("\n"), /\bephemeral CA\b.*: no entropy$/);
});

const ROLES: readonly (readonly [role: string, asServer: number, asClient: number])[] = [
	["server", 0, 2],
	["client", 2, 0],
	["both", 0, 0],
];

for (const [role, asServer, asClient] of ROLES) {
	test(`OpenSSL takes a certificate of the role ${role} for what it is`, { skip: withoutOpenssl }, () => {
		for (const env of [{}, KEPT_ENV]) {
			const params = { common_name: "app", san: ["app.example.com", "*.example.org", "10.0.0.1", "::1"], role };
			const { data } = serve({ ...env, SVC_PKI_ORGANIZATION: "Acme" }, ["generate", params]).responses[0];
			const [root, leaf] = [file("root.pem", data.ca_certificate), file("leaf.pem", data.certificate)];
			const verify = (...options: string[]) => openssl("verify", "-x509_strict", "-CAfile", root, ...options, leaf);
			assert.equal(verify("-purpose", "sslserver").status, asServer);
			assert.equal(verify("-purpose", "sslclient").status, asClient);
			for (const name of ["app.example.com", "any.example.org"])
				assert.equal(verify("-verify_hostname", name).status, 0);
			for (const address of ["10.0.0.1", "::1"]) assert.equal(verify("-verify_ip", address).status, 0);
			assert.equal(verify("-verify_hostname", "example.org").status, 2);
			assert.match(openssl("x509", "-in", leaf, "-noout", "-subject").text, /O ?= ?Acme, CN ?= ?app\n/);
			assert.match(openssl("ec", "-in", file("leaf.key", data.private_key), "-noout", "-check").text, /EC Key valid/);
		}
	});
}

test("a name with control characters that OpenSSL signed with our key is shown on one line", {
	skip: withoutOpenssl,
}, () => {
	const key = file("odd.key", openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout").text);
	const request = file("odd.csr", openssl("req", "-new", "-key", key, "-subj", "/CN=a\nb").text);
	const signer = ["-CA", file("ca.pem", kept.certificate), "-CAkey", file("ca.key", kept.private_key)];
	const { text } = openssl("x509", "-req", "-in", request, "-days", "2", ...signer);
	const certificate = text.slice(text.indexOf("-----BEGIN"));
	const { data } = serve(KEPT_ENV, ["validate", { certificate }]).responses[0];
	assert.equal(data.valid, true);
	assert.match(data.message, /^cn=a\\x0ab serial=[0-9a-f]{32,40} expires=\S+Z$/);
});
