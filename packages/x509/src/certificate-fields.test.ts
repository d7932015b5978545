import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { NOW } from "../test/openssl.ts";
import { extensionValue, readFields } from "./certificate-fields.ts";
import { sequence, unsignedInteger } from "./der.ts";
import { createAuthority } from "./index.ts";
import { encodeName } from "./name.ts";
import { EXTENSION } from "./oid.ts";

const name = { common_name: "Ünïcode CA", organization: "Acme" };
const { certificate } = await createAuthority({ ...name, now: NOW, randomBytes });
const { raw } = new X509Certificate(certificate);

test("a certificate's version, subject and extensions are read byte for byte", () => {
	const fields = readFields(raw);
	assert.equal(fields.version, 3);
	assert.deepEqual(fields.subject, encodeName(name));
	assert.deepEqual(
		fields.extensions.map(({ id, isCritical }) => [id.toString("hex"), isCritical]),
		[
			["0603551d13", true],
			["0603551d0f", true],
			["0603551d0e", false],
		],
	);
	assert.equal(extensionValue(fields, EXTENSION.basicConstraints).toString("hex"), "30060101ff020101");
	assert.equal(extensionValue(fields, EXTENSION.nameConstraints).length, 0);
});

test("a certificate of version 1 has no version field and no extensions", () => {
	const serial = unsignedInteger(Uint8Array.of(1));
	const [algorithm, issuer, validity, publicKey] = [sequence(), sequence(), sequence(), sequence()];
	const subject = encodeName(name);
	const fields = readFields(sequence(sequence(serial, algorithm, issuer, validity, subject, publicKey)));
	assert.deepEqual(fields.subject, subject);
	assert.equal(fields.version, 1);
	assert.deepEqual(fields.extensions, []);
});

test("bytes that are not DER throw, wherever they end", () => {
	for (let length = 0; length < raw.length; length++) {
		assert.throws(() => readFields(raw.subarray(0, length)), Error, `cut at ${length}`);
	}
	for (const hex of [
		"30",
		"3080",
		"30800000",
		"3084000000020500",
		"308101",
		"30020500",
		"300430020500",
		"ff".repeat(99),
	]) {
		assert.throws(() => readFields(Buffer.from(hex, "hex")), Error, hex);
	}
});
