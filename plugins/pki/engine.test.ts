import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { Readable } from "node:stream";
import { test } from "node:test";
import { type Engine, serveEngine } from "@svc/plugin-sdk";
import { createAuthority, loadAuthority } from "@svc/x509";
import { createPkiEngine } from "./engine.ts";
import descriptor from "./plugin.json" with { type: "json" };

const NOW = new Date("2030-01-31T12:00:00.7Z");
const DAY_MS = 86_400_000;
const authority = await newAuthority();
const engine = createPkiEngine({ authority, organization: "Acme" }, () => NOW);

async function newAuthority(years = 10) {
	const name = { common_name: "Test CA", organization: "" };
	return loadAuthority(await createAuthority({ ...name, now: NOW, years, randomBytes }));
}

/** The engine's response to one request, through the wire's own framing. */
async function ask(to: Engine, method: string, params: unknown = {}) {
	let response = "";
	const stdin = Readable.from([Buffer.from(`${JSON.stringify({ method, params })}\n`)]);
	await serveEngine(to, { stdin, stdout: { write: (text) => (response += text) } });
	return JSON.parse(response);
}

async function issued(params: object) {
	const { data, error } = await ask(engine, "generate", { common_name: "app.example.com", ...params });
	assert.equal(error, undefined);
	return data;
}

test("a certificate is for a server and for thirty days when nothing else is said", async () => {
	const { certificate, private_key, serial, ...rest } = await issued({ role: null, ttl: null, san: null });
	const parsed = new X509Certificate(certificate);
	assert.deepEqual(rest, {
		ca_certificate: authority.certificate,
		common_name: "app.example.com",
		san: [],
		not_before: "2030-01-31T12:00:00Z",
		expires_at: "2030-03-02T12:00:00Z",
	});
	assert.equal(parsed.subject, "O=Acme\nCN=app.example.com");
	assert.deepEqual(parsed.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
	assert.match(serial, /^[0-9a-f]{32}$/);
	assert.match(private_key, /^-----BEGIN EC PRIVATE KEY-----\n/);
});

test("an address among the names becomes an address, any other entry a host name", async () => {
	const san = ["app", "*.example.com", "_srv.xn--mnchen-3ya.de", "10.0.0.1", "2001:db8::1", `${"a".repeat(63)}.b`];
	const { certificate, san: answered } = await issued({ san });
	assert.deepEqual(answered, san);
	assert.equal(
		new X509Certificate(certificate).subjectAltName,
		`DNS:app, DNS:*.example.com, DNS:_srv.xn--mnchen-3ya.de, IP Address:10.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1, DNS:${san[5]}`,
	);
});

const LIMITS: readonly (readonly [role: string, max: string, longest: string, tooLong: string])[] = [
	["server", "90d", "90d", "91d"],
	["server", "90d", "2160h", "2160h0m1s"],
	["client", "30d", "30d", "720h1s"],
	["both", "90d", "90d", "3650d"],
];

for (const [role, max, longest, tooLong] of LIMITS) {
	test(`a certificate of the role ${role} lives for ${longest} and not for ${tooLong}`, async () => {
		await issued({ role, ttl: longest });
		assert.deepEqual(await ask(engine, "generate", { common_name: "x", role, ttl: tooLong }), {
			error: `ttl ${tooLong} exceeds max ${max} for role ${role}`,
		});
	});
}

test("a role that nobody knows is the role server, and is not repeated", async () => {
	for (const role of ["", "nobody", "Client", "constructor", "__proto__"]) {
		const { certificate } = await issued({ role, ttl: "90d" });
		assert.deepEqual(new X509Certificate(certificate).keyUsage, ["1.3.6.1.5.5.7.3.1"]);
		const { error } = await ask(engine, "generate", { common_name: "x", role, ttl: "91d" });
		assert.equal(error, "ttl 91d exceeds max 90d for role server");
	}
});

const REFUSED: readonly (readonly [params: unknown, error: string])[] = [
	[{}, "common_name is required"],
	[{ common_name: null }, "common_name is required"],
	[{ common_name: " " }, "common_name is required"],
	[{ common_name: 7 }, "invalid params: common_name "],
	[{ common_name: "a\0" }, "invalid params: common_name "],
	[{ common_name: "a\nb" }, "invalid params: common_name "],
	[{ common_name: "a\ud800" }, "invalid params: common_name "],
	[{ common_name: "ü".repeat(65) }, "invalid params: common_name "],
	[{ common_name: "x", san: "app" }, "invalid params: san "],
	[{ common_name: "x", san: [1] }, "invalid params: san "],
	[{ common_name: "x", san: Array(101).fill("a") }, "invalid params: san "],
	[{ common_name: "x", san: Array(9000).fill("a") }, "invalid params: san "],
	[{ common_name: "x", role: 1 }, "invalid params: role "],
	[{ common_name: "x", ttl: 3600 }, "invalid params: ttl "],
	[{ common_name: "x", ttl: "" }, "invalid ttl: "],
	[{ common_name: "x", ttl: "soon" }, "invalid ttl: "],
	[{ common_name: "x", ttl: "-1h" }, "invalid ttl: "],
	[{ common_name: "x", ttl: "0d" }, "invalid ttl: "],
	[{ common_name: "x", ttl: "1d1h" }, "invalid ttl: "],
	[{ common_name: "x", ttl: "999ms" }, "invalid ttl: "],
	[[], "invalid params: "],
	["", "invalid params: "],
	...["", "a b", "a\0", "a\nb", "münchen.de", "fe80::1%eth0", "a..b", "-a", "a-", "a.", "*", "a.*.b", "*a.b"].map(
		(entry) => [{ common_name: "x", san: ["ok", entry] }, "invalid params: san entry 2 "] as const,
	),
	...["a".repeat(64), `${"a.".repeat(126)}bb`].map(
		(entry) => [{ common_name: "x", san: [entry] }, "invalid params: san entry 1 "] as const,
	),
];

for (const [params, begin] of REFUSED) {
	test(`generate with ${JSON.stringify(params).slice(0, 60)} is refused: ${begin}`, async () => {
		const { error, ...rest } = await ask(engine, "generate", params);
		assert.deepEqual(rest, {});
		assert.ok(error.startsWith(begin), error);
	});
}

test("the longest names fit", async () => {
	const common_name = "😀".repeat(64);
	const { certificate } = await issued({ common_name, san: Array(100).fill(`${"a.".repeat(126)}b`) });
	assert.equal((await ask(engine, "validate", { certificate })).data.valid, true);
});

test("no certificate outlives its authority", async () => {
	const short = createPkiEngine({ authority: await newAuthority(1), organization: "" }, () => NOW);
	const late = new Date(NOW.getTime() + (365 - 30) * DAY_MS);
	const later = createPkiEngine({ authority: await newAuthority(1), organization: "" }, () => late);
	assert.ok((await ask(short, "generate", { common_name: "x", ttl: "90d" })).data);
	assert.ok((await ask(later, "generate", { common_name: "x", ttl: "29d" })).data);
	const { error } = await ask(later, "generate", { common_name: "x" });
	assert.match(error, /^ttl 30d exceeds .*\bCA certificate\b.* 2031-01-31T12:00:00Z$/);
});

test("an authority past its end is not healthy, issues nothing and makes nothing valid", async () => {
	const expired = await newAuthority(1);
	let now = expired.notAfter;
	const old = createPkiEngine({ authority: expired, organization: "" }, () => now);
	const { data } = await ask(
		createPkiEngine({ authority: expired, organization: "" }, () => NOW),
		"generate",
		{
			common_name: "x",
		},
	);
	assert.deepEqual(await ask(old, "ping"), { data: { status: "healthy" } });
	now = new Date(now.getTime() + 1);
	const error = "CA certificate has expired";
	assert.deepEqual(await ask(old, "ping"), { error });
	assert.deepEqual(await ask(old, "generate", { common_name: "x", ttl: "1h" }), { error });
	assert.deepEqual(await ask(old, "validate", data), { data: { valid: false, message: error } });
});

test("without an authority every call says so", async () => {
	const empty = createPkiEngine({ authority: undefined, organization: "" });
	for (const [method, params] of [["ping"], ["generate", { common_name: "x" }], ["validate", {}]] as const)
		assert.deepEqual(await ask(empty, method, params), { error: "CA not loaded" });
});

test("a certificate of this authority is valid, and the message says whose it is", async () => {
	const { certificate, serial } = await issued({ common_name: "app 1" });
	assert.deepEqual(await ask(engine, "validate", { certificate }), {
		data: { valid: true, message: `cn=app 1 serial=${serial} expires=2030-03-02T12:00:00Z` },
	});
});

test("a certificate that does not hold is answered, not refused", async () => {
	const other = createPkiEngine({ authority: await newAuthority(), organization: "" }, () => NOW);
	const foreign = (await ask(other, "generate", { common_name: "x" })).data.certificate;
	const later = createPkiEngine({ authority, organization: "" }, () => new Date(NOW.getTime() + DAY_MS));
	const { certificate, private_key } = await issued({ ttl: "1h" });
	const garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
	const table: [Engine, object, RegExp][] = [
		[engine, {}, /^invalid PEM data$/],
		[engine, { certificate: null }, /^invalid PEM data$/],
		[engine, { certificate: "hello" }, /^invalid PEM data$/],
		[engine, { certificate: certificate + certificate }, /^invalid PEM data$/],
		[engine, { certificate: garbage }, /^parse error: [a-z ]+$/],
		[engine, { certificate: private_key }, /^parse error: /],
		[engine, { certificate: foreign }, /\bthis CA$/],
		[later, { certificate }, /^certificate has expired$/],
	];
	for (const [to, params, message] of table) {
		const { data } = await ask(to, "validate", params);
		assert.equal(data.valid, false);
		assert.match(data.message, message);
	}
	const { error } = await ask(engine, "validate", { certificate: 1 });
	assert.match(error, /^invalid params: certificate /);
});

test("a step that fails is named before its reason", async () => {
	const signer = { ...authority.signer, privateKey: "no key" as never };
	const broken = createPkiEngine({ authority: { ...authority, signer }, organization: "" }, () => NOW);
	const { error } = await ask(broken, "generate", { common_name: "x" });
	assert.match(error, /^signing certificate: ./);
});

test("there are three roles, and the first is the default", () => {
	assert.deepEqual(
		descriptor.default_roles.map(({ name }) => name),
		["server", "client", "both"],
	);
});
