import assert from "node:assert/strict";
import { constants, createHmac, sign } from "node:crypto";
import { test } from "node:test";
import type { RefusalReason } from "../../packages/server/src/sso/model.ts";
import {
	bare,
	type Change,
	DS,
	ENCRYPTION,
	ENVELOPED,
	EXCLUSIVE,
	makeKey,
	plainSigning,
	rsa,
	type Signed,
	type Signing,
	skipWithoutOpenssl,
	swap,
	withSignature,
	writeAssertion,
	writeResponse,
	writeSignature,
} from "../peers/saml-documents.ts";
import { each, useExaminer } from "../peers/saml-documents-examiner.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };
const MORE = "http://www.w3.org/2001/04/xmldsig-more#";
const C14N = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315";

/** Tests each way of signing, with each part of the response signed in this way. */
async function allAre(ways: Record<string, Partial<Signing>>, verdict: RefusalReason | "accepted") {
	const changes: Record<string, Change> = {};
	for (const signed of ["assertion", "response", "both"] satisfies Signed[]) {
		for (const [name, signing] of Object.entries(ways)) changes[`${name}, ${signed} signed`] = { signed, signing };
	}
	await examiner().expect(changes, verdict);
}

const pss: Signing["make"] = (text, { private_key }) =>
	sign("sha256", Buffer.from(text), { key: private_key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
const hmac =
	(hash: string, secret: string | Buffer): Signing["make"] =>
	(text) =>
		createHmac(hash, secret).update(text).digest();
const transform = (name: string, inner = "") => `<ds:Transform Algorithm="${name}">${inner}</ds:Transform>`;

test("RSA with SHA-256 and SHA-512 is accepted, with and without the key's certificate", options, async () => {
	await allAre(
		{
			"SHA-256": {},
			"SHA-512": { method: `${MORE}rsa-sha512`, make: rsa("sha512") },
			PSS: { method: "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1", make: pss },
			"a digest of SHA-512": { digest: `${ENCRYPTION}sha512`, hash: "sha512" },
			"no key": { key_info: "" },
			"another key's certificate": { key_info: plainSigning(makeKey("rsa:2048")).key_info },
			"the name of a key": { key_info: "<ds:KeyInfo><ds:KeyName>one</ds:KeyName></ds:KeyInfo>" },
			"a list of prefixes": {
				transforms: [
					transform(ENVELOPED),
					transform(
						EXCLUSIVE,
						`<ec:InclusiveNamespaces xmlns:ec="${EXCLUSIVE}" PrefixList="xs"></ec:InclusiveNamespaces>`,
					),
				],
			},
		},
		"accepted",
	);
});

test("a weak or unknown algorithm is refused, though the signature fits", options, async () => {
	const { key } = examiner();
	const spki = key.certificate;
	await allAre(
		{
			"RSA with SHA-1": { method: `${DS}rsa-sha1`, make: rsa("sha1") },
			"RSA with MD5": { method: `${MORE}rsa-md5`, make: rsa("md5") },
			"RSA with SHA-224": { method: `${MORE}rsa-sha224`, make: rsa("sha224") },
			"a digest of SHA-1": { digest: `${DS}sha1`, hash: "sha1" },
			"a digest of MD5": { digest: `${MORE}md5`, hash: "md5" },
			"HMAC with SHA-1 and the certificate": { method: `${DS}hmac-sha1`, make: hmac("sha1", spki) },
			"HMAC with SHA-256 and the certificate": { method: `${MORE}hmac-sha256`, make: hmac("sha256", spki) },
			"HMAC with the bytes of the certificate": {
				method: `${MORE}hmac-sha256`,
				make: hmac("sha256", Buffer.from(bare(key), "base64")),
			},
			DSA: { method: `${DS}dsa-sha1` },
			"encryption in place of a signature": { method: `${ENCRYPTION}rsa-1_5` },
			"no algorithm": { method: "" },
			"a name with a blank": { method: `${MORE}rsa-sha256 ` },
			"a parameter of the algorithm": {
				signed_info: swap("</ds:SignatureMethod>", "<ds:HMACOutputLength>1</ds:HMACOutputLength></ds:SignatureMethod>"),
			},
			"a parameter of the digest": { signed_info: swap("</ds:DigestMethod>", "<x></x></ds:DigestMethod>") },
		},
		"algorithm",
	);
});

test("another canonical form or transform than the two that everybody uses is refused", options, async () => {
	const xpath = `${transform("http://www.w3.org/TR/1999/REC-xpath-19991116", "<ds:XPath>self::x</ds:XPath>")}`;
	const exclusive = transform(EXCLUSIVE);
	const enveloped = transform(ENVELOPED);
	await allAre(
		{
			XPath: { transforms: [enveloped, xpath, exclusive] },
			"XPath alone": { transforms: [xpath] },
			"XPath in place of the form": { transforms: [enveloped, xpath] },
			"XPath filter": { transforms: [enveloped, transform("http://www.w3.org/2002/06/xmldsig-filter2")] },
			XSLT: {
				transforms: [
					enveloped,
					transform(
						"http://www.w3.org/TR/1999/REC-xslt-19991116",
						'<x:stylesheet xmlns:x="http://www.w3.org/1999/XSL/Transform"></x:stylesheet>',
					),
				],
			},
			base64: { transforms: [enveloped, transform(`${DS}base64`)] },
			"the form with ancestors": { transforms: [enveloped, transform(C14N)] },
			"the form with comments": { transforms: [enveloped, transform(`${EXCLUSIVE}WithComments`)] },
			none: { transforms: [] },
			"only one": { transforms: [exclusive] },
			"only the other": { transforms: [enveloped] },
			"the other order": { transforms: [exclusive, enveloped] },
			"one of them twice": { transforms: [enveloped, exclusive, exclusive] },
			"a parameter": { transforms: [transform(ENVELOPED, "<x></x>"), exclusive] },
			"another parameter": { transforms: [enveloped, transform(EXCLUSIVE, "<x></x>")] },
			"the signed information with ancestors": {
				signed_info: (text) => text.replace(`Method Algorithm="${EXCLUSIVE}"`, `Method Algorithm="${C14N}"`),
			},
			"the signed information with comments": {
				signed_info: (text) =>
					text.replace(`Method Algorithm="${EXCLUSIVE}"`, `Method Algorithm="${EXCLUSIVE}WithComments"`),
			},
		},
		"algorithm",
	);
});

test("a signature of anything but its own parent is refused", options, async () => {
	const uris = [
		"",
		"#",
		"#_other",
		"#xpointer(/)",
		"#xpointer(id('_assertion-1'))",
		"_assertion-1",
		"https://idp.example.com/",
		"#_evil",
		"#_request-1",
	];
	const ways = uris.map((uri): [string, Partial<Signing>] => [`URI="${uri}"`, { uri }]);
	await allAre(
		{ ...Object.fromEntries(ways), "no URI": { signed_info: (text) => text.replace(/ URI="[^"]*"/, "") } },
		"signature",
	);
	const { said, key } = examiner();
	const assertion = writeAssertion(said);
	const response = writeResponse(said, assertion);
	const ofAssertion = writeSignature(assertion, plainSigning(key));
	const ofResponse = writeSignature(response, plainSigning(key));
	const documents = {
		"the assertion's signature in the response": withSignature(response, ofAssertion),
		"the response's signature in the assertion": response.replace(assertion, withSignature(assertion, ofResponse)),
		"a signature of the status": writeResponse(
			said,
			withSignature(assertion, writeSignature('<samlp:Status ID="_status"></samlp:Status>', plainSigning(key))),
		).replace("<samlp:Status>", '<samlp:Status ID="_status">'),
	};
	assert.deepEqual(await examiner().verdicts(documents), each(documents, "signature"));
});

test("a signature that is not the provider's is refused", options, async () => {
	const foreign = makeKey("rsa:2048");
	const zeros = Buffer.alloc(256);
	await allAre(
		{
			"of a foreign key": { key: foreign, key_info: "" },
			"of a foreign key, which it brings along": { ...plainSigning(foreign) },
			"of a foreign key, with the provider's certificate": { key: foreign },
			"of another text": { over: "<x></x>" },
			"of another hash": { make: rsa("sha512") },
			"of zeros": { make: () => zeros },
			"of nothing": { make: () => Buffer.alloc(0) },
			"with the hash of PSS": { make: pss },
		},
		"signature",
	);
	const { private_key } = makeKey("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1");
	await allAre(
		{
			"of a foreign curve": {
				method: `${MORE}ecdsa-sha256`,
				make: (text) => sign("sha256", Buffer.from(text), private_key),
			},
		},
		"algorithm",
	);
});

test("what was changed after it was signed, or not signed at all, is refused", options, async () => {
	const changes: Record<string, Change> = {};
	for (const signed of ["assertion", "response", "both"] satisfies Signed[]) {
		const after = (name: string, from: string, to: string) => {
			changes[`${name}, ${signed} signed`] = { signed, finished: swap(from, to) };
		};
		after("another name", ">alice<", ">mallory<");
		after("another case", ">alice<", ">Alice<");
		after("a blank", ">alice<", ">alice <");
		after("another address", "alice@example.com", "mallory@example.com");
		after("another group", ">staff<", ">root<");
		after("another audience", "</saml:Audience>", "x</saml:Audience>");
		after(
			"one more attribute",
			"</saml:AttributeStatement>",
			"<saml:Attribute></saml:Attribute></saml:AttributeStatement>",
		);
		changes[`no signature, ${signed} signed`] = {
			signed,
			finished: (text) => text.replaceAll(/<ds:Signature .*?<\/ds:Signature>/g, ""),
		};
		changes[`an empty value, ${signed} signed`] = {
			signed,
			finished: (text) => text.replaceAll(/(<ds:SignatureValue>)[^<]*/g, "$1"),
		};
	}
	changes["nothing signed"] = { signed: "nothing" };
	await examiner().expect(changes, "signature");
});

test("two signatures both have to fit", options, async () => {
	const { said, key } = examiner();
	const foreign = makeKey("rsa:2048");
	const sign = (element: string, signing: Signing) => withSignature(element, writeSignature(element, signing));
	const both = (assertion: Signing, response: Signing) =>
		sign(writeResponse(said, sign(writeAssertion(said), assertion)), response);
	const good = plainSigning(key);
	const documents = {
		"the assertion's is foreign": both(plainSigning(foreign), good),
		"the response's is foreign": both(good, plainSigning(foreign)),
		"the response's is of another text": both(good, { ...good, over: "<x></x>" }),
		"the assertion's is of another text": both({ ...good, over: "<x></x>" }, good),
		"the response was changed": both(good, good).replace("<samlp:Status>", "<samlp:Status> "),
	};
	assert.deepEqual(await examiner().verdicts(documents), each(documents, "signature"));
	assert.equal((await examiner().verdicts({ both: both(good, good) })).both, "accepted");
});
