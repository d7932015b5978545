/* The verdicts of x509-limbo, and the reasons for refusals; see vectors/limbo/README.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodePem } from "./pem.ts";
import { readRoot } from "./root.ts";
import cases from "./vectors/limbo/cases.json" with { type: "json" };
import { verifyCertificate } from "./verify.ts";

/** Certificates whose label and our verdict differ, and why. */
const DIFFERENCES: readonly (readonly [id: RegExp, reason: string])[] = [
	[
		/::(aki::(leaf|intermediate|cross-signed-root)|ski::\w+)-missing-/,
		"identifiers help to find the authority, which is given; an authority may have none",
	],
	[/::root-non-critical-basic-constraints$/, "OpenSSL made authorities like this for twenty years"],
	[/^rfc5280::nc::permitted-dns-match-noncritical$/, "the constraints count all the same; webpki's twin is valid"],
	[/::pc::ica-noncritical-pc$/, "nobody asks for a policy"],
	[/::eku::ee-wrong-eku$/, "nobody says what the certificate is to be used for"],
	[/::ca-as-leaf-wrong-san$/, "nobody says which host is looked for"],
	[/::san::underscore-dns$/, "generate issues names such as _srv.example.com"],
	[
		/::validity::notafter-fractional$/,
		"a certificate ends at its expires_at and not a second later; ambiguous by its own words",
	],
];

/** The messages of refusals; the first line that matches a case decides. */
const REFUSALS: readonly (readonly [id: RegExp, message: RegExp])[] = [
	[/::nc::not-allowed-in-ee/, /^certificate .*\bname constraints\b/],
	[/::nc::(invalid-|.*-both-)/, /^CA certificate .*\bname constraints\b.*: /],
	[/::nc::nc-permits-invalid-dns-san$/, /^certificate .*\bDNS name\b/],
	[/::nc::.*-dn-/, /^subject .*\bname constraints\b/],
	[/::nc::|^cve::/, /^san entry \d .*\bname constraints\b/],
	[/::validity::not(-yet|before)/, /\bnot yet valid$/],
	[/::validity::/, /\bexpired$/],
	[/::serial::too-long$/, /^parse error: .*\bserial number\b.*\b20 bytes$/],
	[/::serial::zero$/, /^parse error: .*\bserial number\b.*\bpositive$/],
	[/::san::noncritical-with-empty-subject$/, /^certificate .*\bsubject\b/],
	// To OpenSSL a certificate with unreadable extensions has no issuer, and one with an unreadable key issues nothing.
	[/::(san::malformed|duplicate-extensions|ee-empty-issuer|invalid-issuer-key)$/, /^certificate .*\bissued\b/],
	[/::san::/, /^certificate .*\bDNS name\b/],
	[/::eku::ee-eku-empty$/, /^certificate .*\bextended key usage$/],
	[/::leaf-ku-keycertsign$/, /^certificate may sign\b/],
	[/critical-.*-ee$|::ee-critical/, /^certificate .*\bcritical extension\b/],
	[/critical-|::serial::negative$/, /^CA certificate .*\bcritical extension\b/],
	[/::ca-empty-subject$/, /^CA certificate .*\bsubject\b/],
	[/ca-bit$|basic-constraints$|inconsistent-ca/, /^CA certificate .*\bmay sign\b/],
];

interface Case {
	authority: string;
	certificate: string;
	time: string;
}

/** Tells why a certificate is not valid, or its authority cannot be one; empty when it is valid. */
function refusal({ authority, certificate, time }: Case): string {
	const [rootPem, pem] = [authority, certificate].map((der) => encodePem("CERTIFICATE", Buffer.from(der, "base64")));
	try {
		const verification = verifyCertificate(pem ?? "", readRoot(rootPem ?? ""), new Date(time));
		return verification.valid ? "" : verification.message;
	} catch (error) {
		return (error as Error).message;
	}
}

function find<Value>(table: readonly (readonly [RegExp, Value])[], id: string): Value | undefined {
	return table.find(([pattern]) => pattern.test(id))?.[1];
}

for (const { id, description, expected, ...material } of cases) {
	const difference = find(DIFFERENCES, id);
	const isValid = (expected === "SUCCESS") === (difference === undefined);
	test(`${id} is ${isValid ? "valid" : "refused"}${difference ? `, for ${difference}` : ""}: ${description}`, () => {
		const message = refusal(material);
		if (isValid) {
			assert.equal(message, "");
		} else {
			assert.match(message, find(REFUSALS, id) ?? /^$/);
		}
	});
}

test("every difference is one of a case", () => {
	for (const [pattern] of DIFFERENCES) {
		assert.ok(
			cases.some(({ id }) => pattern.test(id)),
			String(pattern),
		);
	}
});
