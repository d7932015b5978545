import assert from "node:assert/strict";
import { accountOf } from "../../../packages/server/src/sso/ldap/account.ts";
import { parseDn, writeDn } from "../../../packages/server/src/sso/ldap/dn.ts";
import { FilterError, readFilter } from "../../../packages/server/src/sso/ldap/filter.ts";
import { SsoRefusal } from "../../../packages/server/src/sso/model.ts";
import { readDocument } from "../../../packages/server/src/sso/saml/document.ts";
import { decodeStrictXml } from "../../../packages/server/src/sso/saml/strict-xml.ts";
import { accepted, type Target } from "../target.ts";

const RESPONSE = [
	'<p:Response xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="_r">',
	'<a:Issuer>i</a:Issuer><p:Status/><a:Assertion ID="_a"><Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/>',
	"</a:Assertion></p:Response>",
].join("");

/** Accepted documents have one Response and one Assertion, and no text that two readers could read as different trees. */
export const saml: Target = {
	sources: [
		"packages/server/src/sso/saml/document.ts",
		"packages/server/src/sso/saml/strict-xml.ts",
		"packages/server/src/sso/saml/xml.ts",
	],
	// Three quarters of a form's limit: base64 takes the rest.
	max_bytes: 192 * 1024,
	seeds: [RESPONSE, `<?xml version="1.0"?>${RESPONSE}`],
	tokens: [
		...[
			"<a:Assertion ID='_b'>",
			"</a:Assertion>",
			"<!--",
			"-->",
			"<![CDATA[",
			"]]>",
			"<!DOCTYPE x [",
			"<?x?>",
			"&#x41;",
		],
		...["&lt;", "&x;", "xmlns:p='x'", " ID='_a'", "xml:id='_a'", "/>", "<", ">", "'", '"', "\0", "\u00e9"],
	],
	check(input) {
		const text = accepted(SsoRefusal, () => decodeStrictXml(input.toString("base64")));
		if (text === undefined) return;
		assert.doesNotMatch(text, /<[!?]/);
		const document = accepted(SsoRefusal, () => readDocument(text));
		if (document === undefined) return;
		assert.equal(text.match(/<(?:[\w.-]+:)?Assertion\b/g)?.length, 1);
		assert.ok(document.signatures.length > 0);
	},
};

const BASE = { user_base_dn: "ou=people,dc=example,dc=com" };

/** A distinguished name reads the same when it is rewritten, and one person has one account for counting guesses. */
export const distinguishedName: Target = {
	sources: ["packages/server/src/sso/ldap/account.ts", "packages/server/src/sso/ldap/dn.ts"],
	max_bytes: 1024 * 1024,
	seeds: ["uid=ada,ou=people,dc=example,dc=com", "cn=a\\2cb+sn=\\41,dc=x", "2.5.4.3=x"],
	tokens: [
		"=",
		",",
		"+",
		"\\",
		"\\2c",
		"\\ff",
		"#",
		'"',
		";",
		" ",
		"\0",
		"\u0301",
		"uid=",
		",ou=people,dc=example,dc=com",
	],
	// The guess counter receives anything that people type; the rest runs in its own thread.
	parse: (input) => accountOf(BASE, input.toString()),
	check(input) {
		const text = input.toString();
		const name = parseDn(text);
		if (name !== undefined) assert.deepEqual(parseDn(writeDn(name)), name);
		const account = accountOf(BASE, text);
		assert.equal(accountOf(BASE, ` ${text.slice(0, 1000)}`), accountOf(BASE, text.slice(0, 1000)));
		assert.ok(account.length <= 20 * 1024);
	},
};

/** An administrator's filter is one filter with the placeholder in a value, or is refused. */
export const filter: Target = {
	sources: ["packages/server/src/sso/ldap/filter.ts"],
	max_bytes: 4096,
	seeds: ["(uid={username})", "(&(objectClass=person)(|(uid={username})(mail={username}@x)))", "(cn:=a\\2a{username})"],
	tokens: ["(", ")", "&", "|", "!", "=", "~=", ">=", "*", "\\2a", "{username}", ":dn:=", "(uid={username})"],
	check(input) {
		const text = input.toString();
		const filling = { placeholder: "{username}", value: "a)(b*" };
		const found = accepted(FilterError, () => readFilter(text, filling));
		if (found !== undefined) assert.ok(text.includes("{username}"));
	},
};
