import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFields } from "../../../packages/x509/src/certificate-fields.ts";
import { readElements } from "../../../packages/x509/src/der-reader.ts";
import {
	createAuthority,
	issueCertificate,
	loadAuthority,
	verifyCertificate,
} from "../../../packages/x509/src/index.ts";
import { decodePem, encodePem } from "../../../packages/x509/src/pem.ts";
import type { Target } from "../target.ts";

const now = new Date("2030-01-01T00:00:00Z");
const later = new Date("2030-02-01T00:00:00Z");
const randomBytes = (size: number) => Buffer.alloc(size, 0x5a);
const authority = loadAuthority(await createAuthority({ common_name: "ca", organization: "o", now, randomBytes }));
const { certificate } = issueCertificate(authority, {
	...{ common_name: "db.internal", organization: "o", san: ["db.internal", "10.0.0.1"], randomBytes },
	...{ extended_key_usage: ["server"] as const, not_before: now, not_after: later },
});
const leaf = decodePem(certificate)?.der ?? Buffer.alloc(0);

/** The elements read as DER are the input cut into pieces: nothing is lost, nothing is invented. */
export const der: Target = {
	sources: ["packages/x509/src/certificate-fields.ts", "packages/x509/src/der-reader.ts"],
	max_bytes: 64 * 1024,
	seeds: [leaf, Buffer.from("3003020101", "hex"), Buffer.from("0482000161", "hex")],
	tokens: ["\x30", "\x30\x80", "\x02\x01", "\x82", "\xa3", "\x06\x03\x55\x1d", "\x84\xff\xff\xff\xff"],
	check(input) {
		const elements = attempt(() => readElements(input));
		if (elements !== undefined) assert.deepEqual(Buffer.concat(elements.map(({ bytes }) => bytes)), input);
		attempt(() => readFields(input));
	},
};

/** The readers throw plain errors that describe the invalid bytes, or Buffer's RangeError. */
function attempt<T>(read: () => T): T | undefined {
	try {
		return read();
	} catch (error) {
		if (error instanceof RangeError || (error instanceof Error && /^not DER/.test(error.message))) return undefined;
		throw error;
	}
}

/** A text has one block or none; a block that was read, written again, reads the same. */
export const pem: Target = {
	sources: ["packages/x509/src/pem.ts"],
	max_bytes: 1024 * 1024,
	seeds: [certificate, `# a comment\n${certificate}`, "-----BEGIN X-----\nAA==\n-----END X-----"],
	tokens: ["-----BEGIN ", "-----END ", "-----", "CERTIFICATE", "=", "\n", " ", "A"],
	check(input) {
		const block = decodePem(input.toString("latin1"));
		if (block !== undefined) assert.deepEqual(decodePem(encodePem(block.label, block.der)), block);
	},
};

/** Only the certificate that the authority signed is valid; all others are refused with our own messages. */
export const signedCertificate: Target = {
	sources: [
		"packages/x509/src/certificate-fields.ts",
		"packages/x509/src/der-reader.ts",
		"packages/x509/src/directory-name.ts",
		"packages/x509/src/name-constraints.ts",
		"packages/x509/src/name.ts",
		"packages/x509/src/pem.ts",
		"packages/x509/src/profile.ts",
		"packages/x509/src/verify.ts",
	],
	max_bytes: 64 * 1024,
	seeds: [leaf, Buffer.concat([leaf, Buffer.from([0])])],
	tokens: ["\x30", "\xa3", "\x06\x03\x55\x1d\x13", "\x01\x01\xff", "\x04\x02\x30\x00"],
	check(input) {
		const found = verifyCertificate(encodePem("CERTIFICATE", input), authority, now);
		if (!found.valid) assert.doesNotMatch(found.message, /cannot be verified/);
		else assert.deepEqual(new X509Certificate(input).raw, leaf);
	},
};
