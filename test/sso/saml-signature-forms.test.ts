import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, DS, ENCRYPTION, makeKey, skipWithoutOpenssl, swap } from "../peers/saml-documents.ts";
import { useExaminer } from "../peers/saml-documents-examiner.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

test("a signature with more or less than its parts is refused", options, async () => {
	const parts = [
		"SignedInfo",
		"SignatureValue",
		"KeyInfo",
		"CanonicalizationMethod",
		"SignatureMethod",
		"Reference",
		"Transforms",
		"DigestMethod",
		"DigestValue",
	];
	const changes: Record<string, Change> = {};
	for (const part of parts) {
		const pattern = new RegExp(`<ds:${part}[ >].*</ds:${part}>`);
		changes[`two times ${part}`] = { finished: (text) => text.replace(pattern, "$&$&") };
		if (part !== "KeyInfo") changes[`no ${part}`] = { finished: (text) => text.replace(pattern, "") };
	}
	const add = (element: string): Change => ({ finished: swap("</ds:Signature>", `${element}</ds:Signature>`) });
	changes["an object"] = add("<ds:Object></ds:Object>");
	changes["something unknown"] = add("<x></x>");
	changes["another namespace"] = { finished: (text) => text.replaceAll(DS, "urn:x") };
	changes["two signatures of the assertion"] = {
		finished: (text) => text.replace(/<ds:Signature .*<\/ds:Signature>/, "$&$&"),
	};
	changes["a signature in the subject"] = {
		finished: (text) => text.replace(/(<ds:Signature .*<\/ds:Signature>)(<saml:Subject>)/, "$2$1"),
	};
	changes["a signature in the status"] = {
		finished: (text) => text.replace("<samlp:Status>", `<samlp:Status><ds:Signature xmlns:ds="${DS}"></ds:Signature>`),
	};
	await examiner().expect(changes, "malformed");
});

test("an encrypted assertion is refused, signed or not", options, async () => {
	const data = `<xenc:EncryptedData xmlns:xenc="${ENCRYPTION}"><xenc:EncryptionMethod Algorithm="${ENCRYPTION}aes256-cbc"></xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>AAAA</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>`;
	const encrypted = `<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${data}</saml:EncryptedAssertion>`;
	const inPlace = (text: string) => text.replace(/<saml:Assertion .*<\/saml:Assertion>/, encrypted);
	await examiner().expect(
		{
			"in place of the assertion": { signed: "nothing", response: inPlace },
			"in place of the assertion, signed": { signed: "response", response: inPlace },
			"beside the assertion": { response: (text) => text.replace("<saml:Assertion ", `${encrypted}<saml:Assertion `) },
		},
		"malformed",
	);
});

test("any of the provider's certificates will do, in any order", options, async () => {
	const { key, identify, write } = examiner();
	const other = makeKey("rsa:2048");
	const document = write({ signed: "both" });
	for (const idp_certificate of [key.certificate + other.certificate, `${other.certificate}\n${key.certificate}`]) {
		assert.equal((await identify(document, { idp_certificate })).subject, "alice");
	}
	await assert.rejects(identify(document, { idp_certificate: other.certificate }), { reason: "signature" });
});
