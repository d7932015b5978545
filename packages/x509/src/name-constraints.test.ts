import assert from "node:assert/strict";
import { test } from "node:test";
import { file, issue, LATER, openssl, opensslAuthority, withoutOpenssl } from "../test/openssl.ts";
import { loadAuthority } from "./authority.ts";
import { implicit, sequence, setOf, utf8String } from "./der.ts";
import { NAME_KIND } from "./general-name.ts";
import { encodeName } from "./name.ts";
import { faultOfNames, readNameConstraints } from "./name-constraints.ts";
import { ATTRIBUTE } from "./oid.ts";
import { encodeAlternativeNames } from "./san.ts";
import { verifyCertificate } from "./verify.ts";

/** A common name, the alternative names, and the one that is not allowed; nothing when all are. */
type Row = readonly [common_name: string, san: readonly string[], place?: string];

const NOTHING = Buffer.alloc(0);
const PERSON = encodeName({ common_name: "Ada", organization: "" });

/** Finds the name that a message refuses. Returns the whole message when it names none. */
function placeIn(message: string | undefined): string | undefined {
	return message && (/^(common_name|subject|san entry \d+) .*\bname constraints\b/.exec(message)?.[1] ?? message);
}

function permitted(kind: number, base: Buffer | string): Buffer {
	const subtree = sequence(implicit(kind, Buffer.from(base)));
	return sequence(Buffer.concat([Buffer.of(0xa0, subtree.length), subtree]));
}

const TABLE: readonly (readonly [constraints: string, ...Row[]])[] = [
	[
		"permitted;DNS:example.com",
		["Ada", ["example.com", "app.example.com", "a.b.example.com", "*.example.com"]],
		["Ada", ["EXAMPLE.com", "App.Example.COM"]],
		["Ada", ["10.0.0.1", "::1"]],
		["Ada", ["app.example.com", "notexample.com"], "san entry 2"],
		["Ada", ["example.org"], "san entry 1"],
		["Ada", ["com"], "san entry 1"],
		["Ada", ["*.com"], "san entry 1"],
		["Ada", ["example.com.evil.org"], "san entry 1"],
		["app.example.com", []],
		["app.example.org", [], "common_name"],
		["app.example.org", ["10.0.0.1"], "common_name"],
		["app.example.org", ["app.example.com"]],
		["localhost", []],
	],
	["permitted;DNS:example.com,permitted;DNS:example.org", ["Ada", ["a.example.com", "a.example.org"]]],
	[
		"excluded;DNS:secret.example.com,permitted;DNS:example.com",
		["Ada", ["example.com", "other.example.com", "notsecret.example.com"]],
		["Ada", ["secret.example.com"], "san entry 1"],
		["Ada", ["deep.secret.example.com"], "san entry 1"],
		["Ada", ["*.secret.example.com"], "san entry 1"],
		["secret.example.com", [], "common_name"],
	],
	[
		"permitted;IP:10.0.0.0/255.0.0.0",
		["Ada", ["10.0.0.0", "10.255.255.255", "app.example.com"]],
		["Ada", ["11.0.0.0"], "san entry 1"],
		["Ada", ["::1"], "san entry 1"],
		["Ada", ["::ffff:10.0.0.1"], "san entry 1"],
	],
	[
		"excluded;IP:2001:db8::/ffff:fff8::",
		["Ada", ["2001:dc0::", "32.1.13.184"]],
		["Ada", ["2001:dbf:ffff::1"], "san entry 1"],
	],
	["permitted;IP:0.0.0.0/0.0.0.0", ["Ada", ["192.0.2.1"]], ["Ada", ["::"], "san entry 1"]],
	["permitted;email:example.com,excluded;URI:example.com", ["app.example.org", ["app.example.org", "10.0.0.1"]]],
];

for (const [constraints, ...rows] of TABLE) {
	test(`OpenSSL and we agree on who is allowed by ${constraints}`, { skip: withoutOpenssl }, () => {
		const kept = opensslAuthority("prime256v1", `nameConstraints=critical,${constraints}`);
		const authority = loadAuthority(kept);
		const root = file("constrained.pem", kept.certificate);
		for (const [common_name, san, place] of rows) {
			const names = { common_name, san };
			const what = JSON.stringify(names);
			const { certificate } = issue({ ...authority, nameConstraints: undefined }, names);
			const verification = verifyCertificate(certificate, authority, LATER);
			assert.equal(verification.valid ? undefined : placeIn(verification.message), place, what);
			const judged = openssl("verify", "-CAfile", root, file("constrained-leaf.pem", certificate));
			assert.match(judged.text, place ? /(permitted|excluded) subtree violation/ : /OK$/m, what);
			if (place === undefined) {
				issue(authority, names);
			} else {
				assert.throws(
					() => issue(authority, names),
					({ message }: Error) => placeIn(message) === place,
				);
			}
		}
	});
}

test("a wildcard that stands for an excluded name is excluded, one that stands for none is not", () => {
	const list = sequence(implicit(NAME_KIND.dns, Buffer.from("bar.example.com")));
	const constraints = readNameConstraints(sequence(Buffer.concat([Buffer.of(0xa1, list.length), list])));
	const fault = (name: string) => placeIn(faultOfNames(constraints, PERSON, encodeAlternativeNames([name])));
	assert.equal(fault("*.example.com"), "san entry 1");
	assert.equal(fault("*.bar.example.com"), "san entry 1");
	for (const name of ["*.com", "*.foo.example.com", "*.ar.example.com", "*.xample.com"]) {
		assert.equal(fault(name), undefined, name);
	}
});

test("a subject is compared attribute by attribute, without regard to case and spaces", () => {
	const constraints = readNameConstraints(
		permitted(
			NAME_KIND.directory + 0x20,
			sequence(setOf(sequence(ATTRIBUTE.organization, utf8String("  ACME   inc")))),
		),
	);
	const fault = (common_name: string, organization: string) =>
		placeIn(faultOfNames(constraints, encodeName({ common_name, organization }), NOTHING));
	assert.equal(fault("Ada", "Acme Inc"), undefined);
	for (const organization of ["Acme", "Acme Inc 2", "AcmeInc", ""]) {
		assert.equal(fault("Acme Inc", organization), "subject", organization);
	}
	assert.equal(fault(`A${"\u0301".repeat(30)}`, "Acme Inc"), undefined);
	assert.equal(fault(`A${"\u0301".repeat(31)}`, "Acme Inc"), "subject", "it is not normalized");
});

test("an e-mail address in a subject is held to the constraints on mailboxes", () => {
	const subject = (address: string) => sequence(setOf(sequence(ATTRIBUTE.emailAddress, utf8String(address))));
	const table: [base: string, address: string, isAllowed: boolean][] = [
		["example.com", "ada@example.com", true],
		["example.com", "ada@EXAMPLE.com", true],
		["example.com", "ada@app.example.com", false],
		["example.com", "ada@bob@example.com", false],
		["example.com", "example.com", false],
		[".example.com", "ada@app.example.com", true],
		[".example.com", "ada@example.com", false],
		["ada@example.com", "ada@example.com", true],
		["ada@example.com", "Ada@example.com", false],
		["ada@example.com", "ada2@example.com", false],
		["ada@example.com", "ada/2@example.com", false],
	];
	for (const [base, address, isAllowed] of table) {
		const constraints = readNameConstraints(permitted(NAME_KIND.email, base));
		assert.equal(
			placeIn(faultOfNames(constraints, subject(address), NOTHING)),
			isAllowed ? undefined : "subject",
			address,
		);
	}
});

test("a name of a kind that is not understood is not allowed where there is a constraint on it, and free elsewhere", () => {
	const uri = 6;
	const names = sequence(implicit(uri, Buffer.from("https://example.com")));
	assert.equal(placeIn(faultOfNames(readNameConstraints(permitted(uri, "example.com")), PERSON, names)), "san entry 1");
	assert.equal(faultOfNames(readNameConstraints(permitted(NAME_KIND.dns, "example.com")), PERSON, names), undefined);
});

test("an empty DNS name stands for all of them", () => {
	assert.equal(
		faultOfNames(readNameConstraints(permitted(NAME_KIND.dns, "")), PERSON, encodeAlternativeNames(["a.b"])),
		undefined,
	);
});

test("constraints that cannot be applied are refused when they are read", () => {
	const none = /\bnone$/;
	const list = /\blist\b/;
	const form = /\bhost name\b.*\bmask\b.*\bmailbox\b/;
	const table: [string, Buffer, RegExp][] = [
		["no list", sequence(), none],
		["an empty list", Buffer.from("3002a000", "hex"), list],
		["a third list", Buffer.from("3007a20530038201 61".replace(" ", ""), "hex"), list],
		["a minimum", Buffer.from("300aa00830068201618001 01".replace(" ", ""), "hex"), /\bminimum\b/],
		["no base", Buffer.from("3004a0023000", "hex"), /\bmissing$/],
		["a base that is no name", Buffer.from("3007a0053003020161", "hex"), /\bgeneral name$/],
		["a leading dot", permitted(NAME_KIND.dns, ".example.com"), form],
		["a wildcard", permitted(NAME_KIND.dns, "*.example.com"), form],
		["a mailbox for a host", permitted(NAME_KIND.email, "a@b@example.com"), form],
		["a host that is none", permitted(NAME_KIND.email, "*.example.com"), form],
		["an address without a mask", permitted(NAME_KIND.address, Buffer.of(10, 0, 0, 0)), form],
		["a mask with holes", permitted(NAME_KIND.address, Buffer.of(10, 0, 0, 0, 255, 0, 255, 0)), form],
		["a mask of three bytes", permitted(NAME_KIND.address, Buffer.of(10, 0, 0, 255, 0, 0)), form],
	];
	for (const [what, der, message] of table) {
		assert.throws(() => readNameConstraints(der), { message }, what);
	}
});
