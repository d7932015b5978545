import assert from "node:assert/strict";
import { test } from "node:test";
import { asField, attribute, type Change, type Signed, skipWithoutOpenssl, swap } from "../peers/saml-documents.ts";
import { each, useExaminer } from "../peers/saml-documents-examiner.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

/** Changes the signed part, and signs the result. */
const inAssertion = (from: string, to: string): Change => ({ assertion: swap(from, to) });
/** Changes the text after it was signed. */
const afterwards = (from: string, to: string): Change => ({ finished: swap(from, to) });

const NAME_ID = "<saml:NameID>alice</saml:NameID>";

test("what the canonical form leaves out or mends, so that the signature still fits, is refused", options, async () => {
	const written = {
		"a comment in the name": ["alice</saml:NameID>", "ali<!-- -->ce</saml:NameID>"],
		"a comment elsewhere": ["<samlp:Status>", "<!-- --><samlp:Status>"],
		"a comment at the end": ["</samlp:Response>", "</samlp:Response><!-- -->"],
		"a processing instruction in the name": ["alice</saml:NameID>", "alice<?x mallory?></saml:NameID>"],
		"a processing instruction at the start": ["<samlp:Response ", "<?x y?><samlp:Response "],
		"a style sheet": ["<samlp:Response ", '<?xml-stylesheet href="x"?><samlp:Response '],
		"a CDATA section in the name": ["alice</saml:NameID>", "<![CDATA[alice]]></saml:NameID>"],
		"a CDATA section elsewhere": ["<samlp:Status>", "<samlp:Status><![CDATA[ ]]>"],
		"a document type": ["<samlp:Response ", "<!DOCTYPE x><samlp:Response "],
		"a document type in small letters": ["<samlp:Response ", "<!doctype x><samlp:Response "],
		"an entity declaration": ["<samlp:Response ", '<!ENTITY a "alice"><samlp:Response '],
		"an entity without a declaration": ["alice</saml:NameID>", "&alice;</saml:NameID>"],
		"a character that XML has not": ["<samlp:Status>", "<samlp:Status>&#0;"],
		"a surrogate by its number": ["<samlp:Status>", "<samlp:Status>&#xD800;"],
		"a lone ampersand": ["<samlp:Status>", "<samlp:Status>& "],
		"a byte order mark": ["<samlp:Response ", "\ufeff<samlp:Response "],
		"a second declaration": ["<samlp:Response ", '<?xml version="1.0"?><?xml version="1.0"?><samlp:Response '],
		"another encoding in the declaration": [
			"<samlp:Response ",
			'<?xml version="1.0" encoding="UTF-16"?><samlp:Response ',
		],
		"another version of XML": ["<samlp:Response ", '<?xml version="1.1"?><samlp:Response '],
		"a second root": ["</samlp:Response>", "</samlp:Response><x/>"],
		"text after the root": ["</samlp:Response>", "</samlp:Response>x"],
		"text before the root": ["<samlp:Response ", "x<samlp:Response "],
		"an end that is missing": ["</samlp:Response>", ""],
		"an end of another name": ["</samlp:Status>", "</samlp:status>"],
		"an attribute without quotes": ['<samlp:Response xmlns:samlp="', '<samlp:Response x=1 xmlns:samlp="'],
		"an attribute that is there twice": [
			' Version="2.0"><saml:Issuer xmlns',
			' Version="2.0" Version="2.0"><saml:Issuer xmlns',
		],
		"a prefix that nobody declared": ["<samlp:Status>", "<samlp:Status><nobody:x></nobody:x>"],
		"a prefix that nobody declared, of an attribute": ["<samlp:Status>", '<samlp:Status nobody:x="">'],
		"a NUL": ["<samlp:Status>", "<samlp:Status>\0"],
	} as const;
	const changes = Object.entries(written).map(([name, [from, to]]): [string, Change] => [name, afterwards(from, to)]);
	await examiner().expect(Object.fromEntries(changes), "malformed");
});

test("an entity that is declared is refused, whatever it stands for", options, async () => {
	const declare = (entity: string) => (text: string) => `<!DOCTYPE x [${entity}]>${text.replace(">alice<", ">&a;<")}`;
	await examiner().expect(
		{
			inside: { finished: declare('<!ENTITY a "alice">') },
			outside: { finished: declare('<!ENTITY a SYSTEM "file:///etc/hostname">') },
			"of itself": { finished: declare('<!ENTITY b "&#38;c;&#38;c;"><!ENTITY c "xxxx"><!ENTITY a "&b;&b;">') },
		},
		"malformed",
	);
});

test("a declaration of UTF-8 is accepted, and so is a line's end", options, async () => {
	const document = examiner().write({});
	const declared = {
		plain: `<?xml version="1.0"?>${document}`,
		"with the encoding": `<?xml version="1.0" encoding="UTF-8"?>\n${document}\n`,
		alone: `<?xml version='1.0' encoding='utf-8' standalone="no"?>${document}`,
		"a signature in lines": document.replace(/(<ds:SignatureValue>.{76})/, "$1&#13;\n"),
		"empty elements": document.replaceAll("></samlp:StatusCode>", "/>"),
	};
	assert.deepEqual(await examiner().verdicts(declared), each(declared, "accepted"));
});

test("another encoding than UTF-8 is refused", options, async () => {
	const document = examiner().write({});
	const little = Buffer.from(`\ufeff${document}`, "utf16le");
	const written = {
		"UTF-16": little,
		"UTF-16 of the other order": Buffer.from(little).swap16(),
		"UTF-16 without a mark": Buffer.from(document, "utf16le"),
		"a byte order mark of UTF-8": Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(document)]),
		"Latin 1": Buffer.from(document.replace(">alice<", ">alicé<"), "latin1"),
		"a long form of a letter": Buffer.concat([Buffer.from(document), Buffer.from([0xc1, 0xa1])]),
		"a surrogate": Buffer.concat([Buffer.from(document), Buffer.from([0xed, 0xa0, 0x80])]),
	};
	assert.deepEqual(await examiner().verdicts(written), each(written, "malformed"));
});

test("a field that is not the one base64 text of its bytes is refused", options, async () => {
	let field = asField(examiner().write({}));
	for (let blanks = ""; !field.endsWith("="); blanks += " ") field = asField(`${examiner().write({})}${blanks} `);
	await examiner().identifyField(field);
	const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".indexOf(
		field.replace(/=+$/, "").at(-1) ?? "",
	);
	const other = String.fromCharCode(
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".charCodeAt(last + 1),
	);
	const fields = {
		"a blank": ` ${field}`,
		"a line's end": `${field.slice(0, 76)}\n${field.slice(76)}`,
		"no padding": field.replace(/=+$/, ""),
		"too much padding": `${field}====`,
		"padding inside": `${field}${field}`,
		"bits after the end": field.replace(/.(=+)$/, `${other}$1`),
		"the alphabet of URLs": `-_${field.slice(2)}`,
		"a percent sign": field.replace("=", "%3D"),
		empty: "",
		"only padding": "====",
	};
	for (const [name, text] of Object.entries(fields)) {
		await assert.rejects(examiner().identifyField(text), { reason: "malformed" }, name);
	}
});

test("two of what there must be one is refused, though both are signed", options, async () => {
	const twice = (pattern: RegExp): Change => ({ assertion: (text) => text.replace(pattern, "$&$&") });
	await examiner().expect({ "two names": twice(/<saml:NameID>.*<\/saml:NameID>/) }, "subject");
	await examiner().expect(
		{
			"two issuers": twice(/<saml:Issuer>.*<\/saml:Issuer>/),
			"two subjects": twice(/<saml:Subject>.*<\/saml:Subject>/),
			"two confirmations": twice(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/),
			"two data of a confirmation": twice(/<saml:SubjectConfirmationData .*<\/saml:SubjectConfirmationData>/),
			"two sets of conditions": twice(/<saml:Conditions .*<\/saml:Conditions>/),
			"two statements of a login": twice(/<saml:AuthnStatement .*<\/saml:AuthnStatement>/),
			"two statements of attributes": twice(/<saml:AttributeStatement>.*<\/saml:AttributeStatement>/),
			"two addresses": inAssertion(
				attribute("mail", "alice@example.com"),
				attribute("mail", "alice@example.com", "m@example.com"),
			),
			"two attributes of an address": inAssertion(
				"<saml:AttributeStatement>",
				`<saml:AttributeStatement>${attribute("mail", "m@example.com")}`,
			),
			"two names to show": inAssertion(attribute("displayName", "Alice"), attribute("displayName", "Alice", "Mallory")),
			"two attributes of groups": inAssertion(
				"<saml:AttributeStatement>",
				`<saml:AttributeStatement>${attribute("groups", "root")}`,
			),
		},
		"malformed",
	);
});

test("two of what there must be one in the response is refused", options, async () => {
	for (const signed of ["assertion", "response", "both"] satisfies Signed[]) {
		const twice = (pattern: RegExp): Change => ({ signed, response: (text) => text.replace(pattern, "$&$&") });
		await examiner().expect(
			{
				"two states": twice(/<samlp:Status>.*<\/samlp:Status>/),
				"two codes": twice(/<samlp:StatusCode [^>]*><\/samlp:StatusCode>/),
				"two issuers": twice(/<saml:Issuer xmlns.*?<\/saml:Issuer>/),
				"two assertions": twice(/<saml:Assertion .*<\/saml:Assertion>/),
				"something unknown": { signed, response: swap("<samlp:Status>", "<samlp:Other></samlp:Other><samlp:Status>") },
			},
			"malformed",
		);
	}
});

test(
	"an identifier that is there twice is refused, in every spelling and namespace, signed or not",
	options,
	async () => {
		const spellings = ["ID", "Id", "id", "iD", "xml:id", "samlp:ID", "saml:Id", "x:id"];
		const changes: Record<string, Change> = {};
		for (const spelling of spellings) {
			const declared = spelling.startsWith("x:") ? ' xmlns:x="urn:x"' : "";
			const known = spelling.startsWith("saml:") ? ' xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"' : "";
			for (const value of ["_assertion-1", "_response-1"]) {
				const name = `${spelling}="${value}"`;
				changes[`${name} outside`] = afterwards("<samlp:Status>", `<samlp:Status${declared}${known} ${name}>`);
				changes[`${name} inside`] = inAssertion(
					"<saml:Subject>",
					`<saml:Subject${declared} ${name.replace("samlp:", "saml:")}>`,
				);
			}
			const second = `${spelling.replace("samlp:", "saml:")}="_other"`;
			if (spelling !== "ID") changes[`also ${second}`] = inAssertion(' ID="', `${declared} ${second} ID="`);
		}
		changes["an empty one"] = afterwards("<samlp:Status>", '<samlp:Status ID="">');
		assert.equal(Object.keys(changes).length, 40);
		await examiner().expect(changes, "malformed");
	},
);

test("an element of ours in another namespace or by another name is refused", options, async () => {
	const advice = (inner: string) =>
		inAssertion("<saml:AuthnStatement ", `<saml:Advice>${inner}</saml:Advice><saml:AuthnStatement `);
	const assertion = 'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID';
	await examiner().expect(
		{
			"an assertion of SAML 1.1": inAssertion(assertion, 'xmlns:saml="urn:oasis:names:tc:SAML:1.0:assertion" ID'),
			"an assertion of another namespace": inAssertion(assertion, 'xmlns:saml="urn:x" ID'),
			"a response of another namespace": {
				response: swap('xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"', 'xmlns:samlp="urn:x"'),
			},
			"a response of another name": { response: (text) => text.replaceAll("samlp:Response", "samlp:ArtifactResponse") },
			"only the response of another namespace": {
				finished: (text) =>
					text
						.replace("<samlp:Response ", '<x:Response xmlns:x="urn:x" ')
						.replace("</samlp:Response>", "</x:Response>"),
			},
			"a response in the assertion": advice('<x:Response xmlns:x="urn:x"></x:Response>'),
			"an assertion in the assertion": advice("<saml:Assertion></saml:Assertion>"),
			"an encrypted assertion in the assertion": advice("<saml:EncryptedAssertion></saml:EncryptedAssertion>"),
			"a signature of another namespace": advice('<x:Signature xmlns:x="urn:x"></x:Signature>'),
			"a signature of another namespace, in its place": inAssertion(
				"<saml:Subject>",
				'<x:Signature xmlns:x="urn:x"></x:Signature><saml:Subject>',
			),
			"a second assertion of another namespace": afterwards(
				"<samlp:Status>",
				'<x:Assertion xmlns:x="urn:x"></x:Assertion><samlp:Status>',
			),
			"a response in extensions": afterwards(
				"<samlp:Status>",
				"<samlp:Extensions><samlp:Response></samlp:Response></samlp:Extensions><samlp:Status>",
			),
			"an encrypted assertion": afterwards(
				"</samlp:Response>",
				'<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"></saml:EncryptedAssertion></samlp:Response>',
			),
			"an encrypted assertion alone": {
				assertion: () =>
					'<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_assertion-1"><saml:Issuer></saml:Issuer></saml:EncryptedAssertion>',
			},
			"an identifier with a quote": { said: { assertion_id: "_a&apos;or" } },
			"an assertion without an identifier": { signed: "response", assertion: swap(' ID="_assertion-1"', "") },
		},
		"malformed",
	);
});

test("a name that is more or less than one text is refused", options, async () => {
	await examiner().expect(
		{
			"a child in the name": inAssertion(NAME_ID, "<saml:NameID>alice<x></x></saml:NameID>"),
			"a name in a name": inAssertion(NAME_ID, "<saml:NameID><saml:NameID>alice</saml:NameID></saml:NameID>"),
			"a child in the issuer": inAssertion("</saml:Issuer>", "<x></x></saml:Issuer>"),
			"a child in the audience": inAssertion("</saml:Audience>", "<x></x></saml:Audience>"),
			"a child in an address": inAssertion("alice@example.com", "alice@example.com<x></x>"),
		},
		"malformed",
	);
	await examiner().expect(
		{
			"no name": inAssertion(NAME_ID, ""),
			"an empty name": inAssertion(NAME_ID, "<saml:NameID></saml:NameID>"),
			"a blank name": inAssertion(NAME_ID, "<saml:NameID> \n</saml:NameID>"),
			"a long name": { said: { name_id: "a".repeat(1025) } },
			"an encrypted name": inAssertion(NAME_ID, "<saml:EncryptedID></saml:EncryptedID>"),
			"a name for this login only": inAssertion(
				"<saml:NameID>",
				'<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">',
			),
		},
		"subject",
	);
});
