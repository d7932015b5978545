import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { createAuthority } from "../../packages/x509/src/index.ts";
import { file, openssl, withoutOpenssl } from "../../packages/x509/test/openssl.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";

interface Credential {
	certificate: string;
	ca_certificate: string;
}

interface Authority {
	ca_certificate: string;
	ca_private_key: string;
}

const MASK = "********";

let world: EngineWorld;
before(async () => {
	world = await startEngineWorld();
});
after(() => world.close());

const configure = (settings: object, where?: string) => world.configure("pki", settings, where);
const generate = (where?: string, params: object = {}) =>
	world.generate<Credential>("pki", { common_name: "app", ...params }, where);
const validate = async (certificate: string, where?: string) => ok(await world.validate("pki", { certificate }, where));
const subjectOf = ({ certificate }: Credential) => new X509Certificate(certificate).subject;
const newRealm = async () => (await realm(world.client, world.admin)).slug;

const config = (slug: string) =>
	world.client.get<{ status: string; [field: string]: unknown }>(`/realms/${slug}/engines/pki/config`, {
		token: world.admin.token,
	});

async function authority(common_name: string, made: { now?: Date; years?: number } = {}): Promise<Authority> {
	const { certificate, private_key } = await createAuthority({
		...{ common_name, organization: "", now: new Date(), randomBytes },
		...made,
	});
	return { ca_certificate: certificate, ca_private_key: private_key };
}

/** Makes an authority with OpenSSL, as people do. */
async function opensslAuthority(curve: string): Promise<Authority> {
	const [key, certificate] = [file(`${curve}.key`, ""), file(`${curve}.pem`, "")];
	const newKey = ["-newkey", "ec", "-pkeyopt", `ec_paramgen_curve:${curve}`, "-noenc", "-keyout", key];
	const about = ["-out", certificate, "-subj", "/O=Acme/CN=Acme Root", "-days", "3650"];
	const rights = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"];
	const { status, text } = openssl("req", "-x509", ...newKey, ...about, ...rights);
	assert.equal(status, 0, text);
	const [ca_certificate, ca_private_key] = await Promise.all([readFile(certificate, "utf8"), readFile(key, "utf8")]);
	return { ca_certificate, ca_private_key };
}

// The first test of the file: no process of the engine runs yet.
test("with its first configuration an engine's processes without one end", async () => {
	const processes = async () => (await world.details()).engines.find(({ type }) => type === "pki")?.processes;
	ok(await generate());
	assert.equal(await processes(), 1);
	ok(await configure({ organization: "Acme" }));
	ok(await generate());
	await eventually("only the configured one is left", async () => (await processes()) === 1);
	ok(await world.client.delete("/engines/pki/config", { token: world.admin.token }));
	ok(await generate());
});

for (const curve of ["prime256v1", "secp384r1"]) {
	test(`an authority that OpenSSL made on ${curve} signs, and OpenSSL takes the chain`, {
		skip: withoutOpenssl,
	}, async () => {
		const slug = await newRealm();
		const given = await opensslAuthority(curve);
		const shown = ok(await configure({ ...given, organization: "Acme" }, slug));
		assert.deepEqual(shown, { ...given, organization: "Acme", ca_private_key: MASK, status: "healthy" });
		const made = ok(await generate(slug));
		assert.equal(made.ca_certificate.trim(), given.ca_certificate.trim());
		assert.equal(subjectOf(made), "O=Acme\nCN=app");
		const [root, leaf] = [file("root.pem", given.ca_certificate), file("leaf.pem", made.certificate)];
		const { status, text } = openssl("verify", "-x509_strict", "-CAfile", root, leaf);
		assert.equal(status, 0, text);
		assert.equal((await validate(made.certificate, slug)).valid, true);
	});
}

test("a realm's own authority is no other realm's, and without it the realm has again the one that was made for it", async () => {
	const [own, plain] = [await newRealm(), await newRealm()];
	const first = ok(await generate(own));
	ok(await configure(await authority("svc CA"), own));
	const [mine, common] = [ok(await generate(own)), ok(await generate(plain))];
	assert.notEqual(mine.ca_certificate, common.ca_certificate);
	for (const [certificate, where] of [
		[mine.certificate, plain],
		[common.certificate, own],
	] as const) {
		const { valid, message } = await validate(certificate, where);
		assert.equal(valid, false);
		assert.match(message, /\bthis CA$/);
	}
	ok(await world.client.delete(`/realms/${own}/engines/pki/config`, { token: world.admin.token }));
	assert.equal(ok(await generate(own)).ca_certificate, first.ca_certificate);
	assert.equal((await validate(first.certificate, own)).valid, true);
});

test("the common configuration applies immediately to the realms that have none of their own", async () => {
	const slug = await newRealm();
	const before = ok(await generate(slug));
	ok(await configure({ organization: "Everybody" }));
	const made = ok(await generate(slug));
	assert.equal(subjectOf(made), "O=Everybody\nCN=app");
	assert.equal(made.ca_certificate, before.ca_certificate, "naming an organization makes no new authority");
	ok(await configure({ organization: "Own" }, slug));
	assert.equal(subjectOf(ok(await generate(slug))), "O=Own\nCN=app");
	ok(await world.client.delete("/engines/pki/config", { token: world.admin.token }));
	assert.equal(subjectOf(ok(await generate())), "CN=app");
});

test("what a configuration shows can be set again", async () => {
	const slug = await newRealm();
	for (const settings of [{ organization: "Acme" }, { ...(await authority("Kept")), organization: "Acme" }]) {
		ok(await configure(settings, slug));
		const { status, ...shown } = ok(await config(slug));
		fields(shown, Object.keys(settings));
		assert.equal(ok(await configure({ ...shown, organization: "Acme 2" }, slug)).status, status);
		assert.equal(subjectOf(ok(await generate(slug))), "O=Acme 2\nCN=app");
	}
	assert.equal((await config(slug)).body.ca_private_key, MASK);
});

const garbage = "-----BEGIN CERTIFICATE-----\nhunter2h\n-----END CERTIFICATE-----\n";

test("an authority without its key is refused, and so is what is no text", async () => {
	const slug = await newRealm();
	const { ca_certificate } = await authority("Half");
	const answer = await configure({ ca_certificate }, slug);
	refused(answer, 400, "missing_field");
	assert.match(answer.text, /\bca_private_key\b.*\bca_certificate\b/);
	for (const settings of [
		{ ca_certificate, ca_private_key: 5 },
		{ ca_certificate: [ca_certificate], ca_private_key: "key" },
		{ organization: "x".repeat(65) },
		{ organization: 5 },
		{ max_ttl_days: 5 },
	])
		refused(await configure(settings, slug), 400, "validation_failed");
	refused(await config(slug), 404, "not_found");
});

test("an authority that cannot be used is stored, says why, and issues nothing until it is put right", async () => {
	const [kept, other] = [await authority("Kept"), await authority("Other")];
	const table: [settings: object, why: RegExp][] = [
		[{ ...kept, ca_private_key: other.ca_private_key }, /\bCA certificate and CA private key\b/],
		[{ ...kept, ca_certificate: garbage }, /\bCA certificate .*\bparsed$/],
		[{ ...kept, ca_private_key: garbage.replaceAll("CERTIFICATE", "PRIVATE KEY") }, /\bCA private key .*\bparsed$/],
		[{ ...kept, ca_private_key: "hunter2" }, /\bCA private key .*\bPEM\b/],
	];
	const use = async ([settings, why]: (typeof table)[number]) => {
		const slug = await newRealm();
		const { status } = ok(await configure(settings, slug));
		assert.match(status, /^ping failed: /);
		assert.match(status, why);
		for (const answer of [await generate(slug), await world.validate("pki", { certificate: garbage }, slug)]) {
			refused(answer, 503, "engine_unavailable");
			assert.doesNotMatch(answer.text, /hunter2|BEGIN/);
		}
		const ping = await world.client.post(`/engines/pki/ping?realm=${slug}`, undefined, { token: world.admin.token });
		refused(ping, 503, "engine_unavailable");
		ok(await generate());
		assert.equal(ok(await configure(kept, slug)).status, "healthy");
		ok(await generate(slug));
	};
	await Promise.all(table.map(use));
	assert.doesNotMatch(world.server.stdout() + world.server.stderr(), /hunter2/);
});

test("no certificate outlives its authority, and one that is over neither signs nor vouches", async () => {
	const slug = await newRealm();
	const day_ms = 86_400_000;
	const almost = { now: new Date(Date.now() - 360 * day_ms), years: 1 };
	ok(await configure(await authority("Almost over", almost), slug));
	const answer = await generate(slug);
	refused(answer, 400, "engine_error");
	assert.match(answer.text, /"ttl 30d .*\b[\d-]{10}T[\d:]{8}Z"/);
	const { certificate } = ok(await generate(slug, { ttl: "1h" }));
	assert.equal((await validate(certificate, slug)).valid, true);

	const over = await authority("Over", { now: new Date(Date.now() - 400 * day_ms), years: 1 });
	assert.equal(ok(await configure(over, slug)).status, "CA certificate has expired");
	assert.deepEqual(await validate(over.ca_certificate, slug), { valid: false, message: "CA certificate has expired" });
});

test("the server's own variables name the authority and the organization, and a configuration overrides them", async () => {
	const [outer, inner, slug] = [await authority("Outer"), await authority("Inner"), await newRealm()];
	const made = ok(await generate());
	ok(await configure(inner, slug));
	await world.server.restart({ SVC_PKI_CA_CERT: outer.ca_certificate, SVC_PKI_CA_KEY: outer.ca_private_key });
	assert.equal(ok(await generate()).ca_certificate, made.ca_certificate, "it is for realms that are named");
	ok(await configure({ allowed_realms: [world.slug] }));
	assert.equal(ok(await generate()).ca_certificate, outer.ca_certificate);
	assert.equal(ok(await generate(slug)).ca_certificate, inner.ca_certificate);
	// Half an authority does not count, and every process of the engine must find the same one.
	await world.server.restart({ SVC_PKI_CA_KEY: "", SVC_PKI_ORGANIZATION: "From outside" });
	const answers = await Promise.all(Array.from({ length: 20 }, () => generate()));
	assert.deepEqual(new Set(answers.map(({ body }) => body.ca_certificate)), new Set([made.ca_certificate]));
	assert.deepEqual(new Set(answers.map(({ body }) => subjectOf(body))), new Set(["O=From outside\nCN=app"]));
});
