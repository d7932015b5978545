import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { issue, makeAuthority } from "../test/openssl.ts";
import { type CertificateFields, readFields } from "./certificate-fields.ts";
import { bitString, sequence } from "./der.ts";
import { EXTENSION } from "./oid.ts";
import { faultOfProfile } from "./profile.ts";

const { authority } = await makeAuthority();
const fields = readFields(new X509Certificate(issue(authority).certificate).raw);

/** Returns the fields of the certificate with another value of one extension. */
function withExtension(id: Buffer, value: Buffer): CertificateFields {
	const others = fields.extensions.filter((extension) => !extension.id.equals(id));
	return { ...fields, extensions: [...others, { id, value, isCritical: false }] };
}

test("certificates issued here break no rule", () => {
	assert.equal(faultOfProfile(fields, false), undefined);
	assert.equal(faultOfProfile(authority.fields, true), undefined);
});

test("only a certificate of version 3 has extensions", () => {
	for (const version of [1, 2]) {
		assert.match(faultOfProfile({ ...fields, version }, false) ?? "", /\bextensions\b.*\bversion 3$/);
		assert.equal(faultOfProfile({ ...fields, version, extensions: [] }, false), undefined);
	}
});

test("a list that is there has an entry", () => {
	const usages = withExtension(EXTENSION.extendedKeyUsage, sequence());
	const names = withExtension(EXTENSION.subjectAlternativeName, sequence());
	assert.match(faultOfProfile(usages, false) ?? "", /\bempty extended key usage$/);
	assert.match(faultOfProfile(names, false) ?? "", /\bempty .*\balternative names$/);
});

test("name constraints and the signing of certificates are for authorities", () => {
	const constrained = withExtension(EXTENSION.nameConstraints, sequence());
	const signing = withExtension(EXTENSION.keyUsage, bitString(Uint8Array.of(0b0000_0100), 2));
	assert.match(faultOfProfile(constrained, false) ?? "", /\bname constraints\b/);
	assert.match(faultOfProfile(signing, false) ?? "", /\bmay sign\b/);
	assert.equal(faultOfProfile(constrained, true), undefined);
	assert.equal(faultOfProfile(signing, true), undefined);
});
