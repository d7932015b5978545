import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { ProviderUnavailable } from "../../packages/server/src/sso/model.ts";
import type { SamlSettings } from "../../packages/server/src/sso/settings.ts";
import { bare, makeKey, type SigningKey, skipWithoutOpenssl } from "../peers/saml-documents.ts";
import { COMMON, useExaminer } from "../peers/saml-documents-examiner.ts";
import { SCHEMAS } from "../peers/simplesaml.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

const REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
const SSO = "https://idp.example.com/sso?tenant=1&lang=en";

const keyDescriptor = (key: SigningKey, use = ' use="signing"') =>
	`<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>
	${bare(key)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;

/** Writes metadata of a provider. */
function write(keys: string, changes: { entity?: string; role?: string; service?: string } = {}): string {
	const location = SSO.replaceAll("&", "&amp;");
	const service = changes.service ?? `<md:SingleSignOnService Binding="${REDIRECT}" Location="${location}"/>`;
	return `<?xml version="1.0"?>
<!-- made by hand -->
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example.com/"${changes.entity ?? ""}>
	<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"${changes.role ?? ""}>
		${keys}${service}
	</md:IDPSSODescriptor>
</md:EntityDescriptor>`;
}

const described = (idp_metadata: string): SamlSettings => ({ idp_metadata, email_attribute: "mail", ...COMMON });

/** Returns the error in a provider's settings, or "nothing". */
async function messageOf(settings: SamlSettings): Promise<string> {
	const { saml, said } = examiner();
	try {
		await saml.test(settings, said.now);
		return "nothing";
	} catch (error) {
		return error instanceof ProviderUnavailable ? error.message : String(error);
	}
}

test("a provider is described by its metadata, or by the fields that stand for it", options, async () => {
	const { saml, sp, said, key, settings, identify, write: writeResponse } = examiner();
	const metadata = described(write(keyDescriptor(key)));
	assert.equal(await messageOf(metadata), "nothing");
	assert.equal(await messageOf(settings), "nothing");
	assert.match(
		await saml.loginUrl("by metadata", metadata, sp, "_id", said.now),
		/^https:\/\/idp\.example\.com\/sso\?tenant=1&lang=en&SAMLRequest=/,
	);
	assert.match(
		await saml.loginUrl("by fields", settings, sp, "_id", said.now),
		/^https:\/\/idp\.example\.com\/sso\?SAMLRequest=/,
	);
	const one = { idp_entity_id: undefined, idp_sso_url: undefined, idp_certificate: undefined };
	assert.equal((await identify(writeResponse({}), { ...one, ...metadata })).subject, "alice");
	const wrapped = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${write(keyDescriptor(key)).replace(/^<\?xml[^>]*>/, "")}</md:EntitiesDescriptor>`;
	assert.equal(await messageOf(described(wrapped)), "nothing");
});

test("only strong keys for signatures count", options, async () => {
	const { key, identify, write: writeResponse } = examiner();
	const other = makeKey("rsa:2048");
	const weak = makeKey("rsa:1024");
	const curve = makeKey("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1");
	const none = "the provider has no certificate with an RSA key of at least 2048 bits";
	assert.equal(await messageOf(described(write(""))), none);
	assert.equal(await messageOf(described(write(keyDescriptor(weak)))), none);
	assert.equal(await messageOf(described(write(keyDescriptor(curve)))), none);
	assert.equal(await messageOf(described(write(keyDescriptor(key, ' use="encryption"')))), none);
	assert.equal(await messageOf(described(write(keyDescriptor(key).replace(bare(key), "AAAA")))), none);
	assert.equal(await messageOf({ ...examiner().settings, idp_certificate: weak.certificate }), none);
	const fields = { idp_entity_id: undefined, idp_sso_url: undefined, idp_certificate: undefined };
	for (const keys of [keyDescriptor(key, ""), keyDescriptor(other) + keyDescriptor(curve) + keyDescriptor(key)]) {
		assert.equal((await identify(writeResponse({}), { ...fields, idp_metadata: write(keys) })).subject, "alice");
	}
	const encryption = write(keyDescriptor(other) + keyDescriptor(key, ' use="encryption"'));
	await assert.rejects(identify(writeResponse({}), { ...fields, idp_metadata: encryption }), { reason: "signature" });
});

test("metadata are good until they say, wherever they say it", options, async () => {
	const { key, said, sp, saml, identify, write: writeResponse } = examiner();
	const at = (seconds: number) => new Date(said.now.getTime() + seconds * 1000).toISOString();
	const over = "the provider has metadata that has expired";
	for (const [until, message] of [
		[at(1), "nothing"],
		[at(0), over],
		[at(-1), over],
		["tomorrow", over],
	] as const) {
		for (const element of ["entity", "role"] as const) {
			const settings = described(write(keyDescriptor(key), { [element]: ` validUntil="${until}"` }));
			assert.equal(await messageOf(settings), message, `${element} ${until}`);
			if (message === "nothing") continue;
			await assert.rejects(saml.loginUrl(`${element} ${until}`, settings, sp, "_id", said.now), {
				name: "ProviderUnavailable",
				message,
			});
			const fields = { idp_entity_id: undefined, idp_sso_url: undefined, idp_certificate: undefined };
			await assert.rejects(identify(writeResponse({}), { ...fields, ...settings }), {
				name: "ProviderUnavailable",
				message,
			});
		}
	}
});

test("a login is begun with settings that were read in the same minute, and not later", options, async () => {
	const { key, said, sp, saml } = examiner();
	const until = new Date(said.now.getTime() + 60_000);
	const settings = described(write(keyDescriptor(key), { entity: ` validUntil="${until.toISOString()}"` }));
	const begin = (now: Date, changes = {}) =>
		saml.loginUrl(`with ${Object.keys(changes).join()}`, { ...settings, ...changes }, sp, "_id", now);
	assert.match(await begin(said.now), /^https:/);
	await assert.rejects(begin(until), { name: "ProviderUnavailable", message: /\bexpired$/ });
	const other = { idp_metadata: write("") };
	await assert.rejects(
		begin(said.now, other),
		{ name: "ProviderUnavailable", message: /\bno certificate\b/ },
		"other settings are read for themselves",
	);
	await assert.rejects(
		begin(said.now, other),
		{ name: "ProviderUnavailable", message: /\bno certificate\b/ },
		"what is wrong with them is reported again",
	);
});

test("what cannot work is said before anybody signs in", options, async () => {
	const { key } = examiner();
	const keys = keyDescriptor(key);
	const service = (binding: string, location: string): string =>
		write(keys, { service: `<md:SingleSignOnService Binding="${binding}" Location="${location}"/>` });
	const two = write(keys).replace(/<md:IDPSSODescriptor.*<\/md:IDPSSODescriptor>/s, "$&$&");
	const wrong: [metadata: string, message: RegExp][] = [
		[service("urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST", SSO), /HTTP-Redirect/],
		[service(REDIRECT, "http://idp.example.com/"), /\bhttps\b/],
		[service(REDIRECT, "javascript:alert(1)"), /\bhttps\b/],
		[service(REDIRECT, "nonsense"), /\bhttps\b/],
		[two, /\bexactly one\b/],
		[write(keys).replaceAll("IDPSSODescriptor", "SPSSODescriptor"), /\bexactly one\b/],
		[write(keys).replace(' entityID="https://idp.example.com/"', ""), /\bentityID\b/],
		[write(keys).replace("<!-- made by hand -->", "<!DOCTYPE x>"), /document type/],
		[write(keys).replace("</md:EntityDescriptor>", ""), /cannot be read/],
		["https://idp.example.com/metadata", /cannot be read/],
		["<".repeat(262_144), /cannot be read/],
		["<a>".repeat(60_000), /cannot be read|too long/],
	];
	for (const [metadata, message] of wrong) assert.match(await messageOf(described(metadata)), message);
	assert.equal(await messageOf(described(service(REDIRECT, "http://127.0.0.1:8080/sso"))), "nothing");
	assert.equal(await messageOf(described(write(keys, { role: ' WantAuthnRequestsSigned="true"' }))), "nothing");
});

const withoutXmllint =
	spawnSync("xmllint", ["--version"]).status !== 0 || !existsSync(SCHEMAS)
		? "xmllint, or the schemas of simplesamlphp, are not installed: apt-get install libxml2-utils simplesamlphp"
		: skipWithoutOpenssl;

/** Returns xmllint's errors for a text against a schema. */
function problemsOf(schema: string, text: string): string {
	const args = ["--nonet", "--noout", "--schema", join(SCHEMAS, schema), "-"];
	const { status, stderr } = spawnSync("xmllint", args, { input: text, encoding: "utf8", timeout: 120_000 });
	return status === 0 ? "" : stderr;
}

/** Names with every character that has a meaning in XML. */
const AWKWARD = {
	entity_id: `https://svc.example.com/"<&>'?a=1&b=2`,
	acs_url: "https://svc.example.com/acs?a=1&b='2'",
};

test("our metadata are as the schema of SAML has them", { skip: withoutXmllint }, () => {
	const { saml, sp, key } = examiner();
	assert.equal(problemsOf("saml-schema-metadata-2.0.xsd", saml.metadata(sp)), "");
	assert.equal(problemsOf("saml-schema-metadata-2.0.xsd", saml.metadata(sp, key.certificate)), "");
	assert.equal(problemsOf("saml-schema-metadata-2.0.xsd", saml.metadata(AWKWARD)), "");
	const broken = saml.metadata(sp).replace(' index="0"', "");
	assert.match(problemsOf("saml-schema-metadata-2.0.xsd", broken), /index/, "the schema sees what is missing");
});

test("a request is as the schema of SAML has it, and names who asks, whom, and where the answer goes", {
	skip: withoutXmllint,
}, async () => {
	const { saml, said, settings } = examiner();
	for (const [email_attribute, again] of [
		["mail", true],
		[undefined, false],
	] as const) {
		const url = new URL(
			await saml.loginUrl("settings", { ...settings, email_attribute }, AWKWARD, "_request", said.now, again),
		);
		const request = inflateRawSync(Buffer.from(url.searchParams.get("SAMLRequest") ?? "", "base64")).toString();
		assert.equal(problemsOf("saml-schema-protocol-2.0.xsd", request), "");
		assert.match(request, / ID="_request" Version="2\.0"/);
		assert.match(request, / Destination="https:\/\/idp\.example\.com\/sso"/);
		assert.match(request, / AssertionConsumerServiceURL="https:\/\/svc\.example\.com\/acs\?a=1&#38;b=&#39;2&#39;"/);
		assert.equal(/nameid-format:emailAddress/.test(request), email_attribute === undefined, "asks for the address");
		assert.equal(/ ForceAuthn="true"/.test(request), again, "asks for a new sign-in");
		assert.deepEqual([...url.searchParams.keys()], ["SAMLRequest"]);
	}
});
