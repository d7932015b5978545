import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute, type Change, type Said, type Signed, skipWithoutOpenssl, swap } from "../peers/saml-documents.ts";
import { useExaminer } from "../peers/saml-documents-examiner.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

const inAssertion = (from: string, to: string): Change => ({ assertion: swap(from, to) });
const inResponse = (from: string, to: string): Change => ({ finished: swap(from, to) });

/** Removes an attribute everywhere. */
const without = (name: string) => (text: string) => text.replace(new RegExp(` ${name}="[^"]*"`), "");

/** Sets another time in the response, whose own tag is the first. */
const issuedAt = (value: string) => (text: string) => text.replace(/ IssueInstant="[^"]*"/, ` IssueInstant="${value}"`);

const ENTITY = "https://svc.example.com/metadata";
const ACS = "https://svc.example.com/acs";
const RESTRICTION = `<saml:AudienceRestriction><saml:Audience>${ENTITY}</saml:Audience></saml:AudienceRestriction>`;

test("an assertion for somebody else is refused", options, async () => {
	const others = [
		"https://other.example.com/metadata",
		`${ENTITY}/`,
		ENTITY.toUpperCase(),
		` ${ENTITY}`,
		`${ENTITY}\n`,
		"",
	];
	const audiences = others.map((audience): [string, Change] => [`audience ${audience}`, { said: { audience } }]);
	await examiner().expect(
		{
			...Object.fromEntries(audiences),
			"no audience": inAssertion(`<saml:Audience>${ENTITY}</saml:Audience>`, ""),
			"no restriction": inAssertion(RESTRICTION, ""),
			"a second restriction to others": inAssertion(
				RESTRICTION,
				RESTRICTION + RESTRICTION.replace(ENTITY, "https://other.example.com"),
			),
		},
		"audience",
	);
	await examiner().expect(
		{
			"others too": inAssertion(
				"<saml:Audience>",
				"<saml:Audience>https://other.example.com</saml:Audience><saml:Audience>",
			),
			"a second restriction": inAssertion(RESTRICTION, RESTRICTION + RESTRICTION),
			"good for one time": inAssertion(RESTRICTION, `<saml:OneTimeUse></saml:OneTimeUse>${RESTRICTION}`),
		},
		"accepted",
	);
});

test("an answer that was meant for another address is refused", options, async () => {
	const others = ["https://other.example.com/acs", `${ACS}/`, `${ACS}?x`, "https://svc.example.com:443/acs", ""];
	for (const signed of ["assertion", "response", "both"] satisfies Signed[]) {
		const changes: Record<string, Change> = {};
		for (const other of others) {
			changes[`recipient ${other}`] = { signed, assertion: swap(`Recipient="${ACS}"`, `Recipient="${other}"`) };
			changes[`destination ${other}`] = { signed, response: swap(`Destination="${ACS}"`, `Destination="${other}"`) };
		}
		changes["no recipient"] = { signed, assertion: without("Recipient") };
		await examiner().expect(changes, "recipient");
	}
	await examiner().expect({ "no destination": { response: without("Destination") } }, "accepted");
});

test("an answer of another provider is refused, even well signed", options, async () => {
	const others = ["https://other.example.com/", "https://idp.example.com", "https://idp.example.com/ ", ""];
	const changes: Record<string, Change> = {};
	for (const other of others) {
		const issuer = `<saml:Issuer>${other}</saml:Issuer>`;
		changes[`assertion of ${other}`] = inAssertion("<saml:Issuer>https://idp.example.com/</saml:Issuer>", issuer);
		changes[`response of ${other}`] = {
			response: (text) => text.replace(/(<saml:Issuer xmlns[^>]*>)[^<]*/, `$1${other}`),
		};
		changes[`both of ${other}`] = { said: { issuer: other } };
	}
	await examiner().expect(changes, "issuer");
	await examiner().expect(
		{ "no issuer of the assertion": inAssertion("<saml:Issuer>https://idp.example.com/</saml:Issuer>", "") },
		"malformed",
	);
	await examiner().expect(
		{ "no issuer of the response": { response: (text) => text.replace(/<saml:Issuer xmlns.*?<\/saml:Issuer>/, "") } },
		"accepted",
	);
});

test("an answer to a request that is not open is refused, and so is one to none", options, async () => {
	await examiner().expect(
		{
			unknown: { said: { request_id: "_other" } },
			empty: { said: { request_id: "" } },
			"in capitals": { said: { request_id: "_REQUEST-1" } },
			none: { assertion: without("InResponseTo") },
			"to none, nowhere": { assertion: without("InResponseTo"), response: without("InResponseTo") },
			"only the response": { response: (text) => text.replace('InResponseTo="_request-1"', 'InResponseTo="_other"') },
			"another open one": {
				response: (text) => text.replace('InResponseTo="_request-1"', 'InResponseTo="_request-0"'),
			},
		},
		"request",
	);
	await examiner().expect({ "only in the assertion": { response: without("InResponseTo") } }, "accepted");
	const { request_id } = await examiner().identify(examiner().write({ said: { request_id: "_request-0" } }));
	assert.equal(request_id, "_request-0", "it says which of the open requests was answered");
});

test("a clock may be 120 seconds off and no more, for each of the times", options, async () => {
	const early = ["not_before_s", "issued_s", "signed_in_s"] satisfies (keyof Said)[];
	const late = ["not_on_or_after_s", "confirmed_until_s", "session_until_s"] satisfies (keyof Said)[];
	const at = (seconds: number, names: (keyof Said)[]) =>
		Object.fromEntries(names.map((name) => [`${name} ${seconds}`, { said: { [name]: seconds } }]));
	await examiner().expect(
		{ ...at(121, early), ...at(-121, late), ...at(-120, late), ...at(-86_400, late), ...at(86_400, early) },
		"expired",
	);
	await examiner().expect({ ...at(119, early), ...at(120, early), ...at(-119, late) }, "accepted");
	const issued = (seconds: number) => {
		const response = issuedAt(new Date(examiner().said.now.getTime() + seconds * 1000).toISOString());
		const signed = ["assertion", "response", "both"] satisfies Signed[];
		return Object.fromEntries(signed.map((one) => [`response ${seconds}, ${one} signed`, { signed: one, response }]));
	};
	await examiner().expect({ ...issued(121), ...issued(86_400) }, "expired");
	await examiner().expect({ ...issued(120), ...issued(-86_400) }, "accepted");
});

test("a time that is missing or is none is refused", options, async () => {
	const changes: Record<string, Change> = {};
	const element = (name: string, field: string) => new RegExp(`(<saml:${name}\\b[^>]*?) ${field}="[^"]*"`);
	const times = [
		["Assertion", "IssueInstant"],
		["SubjectConfirmationData", "NotOnOrAfter"],
		["Conditions", "NotBefore"],
		["Conditions", "NotOnOrAfter"],
		["AuthnStatement", "AuthnInstant"],
	] as const;
	const year = examiner().said.now.getUTCFullYear();
	const wrong = [
		"",
		"tomorrow",
		`${year + 1}-01-01`,
		`${year + 1}-02-30T00:00:00Z`,
		`${year + 1}-01-01T00:00:00`,
		`${year + 1}-01-01T00:00:00+00:00`,
		`+0${year + 1}-01-01T00:00:00Z`,
		`${year + 1}-01-01T24:00:00Z`,
		"9".repeat(20),
	];
	for (const [name, field] of times) {
		changes[`${name} without ${field}`] = { assertion: (text) => text.replace(element(name, field), "$1") };
		for (const value of wrong) {
			const to = `$1 ${field}="${value}"`;
			changes[`${name} ${field} ${value}`] = { assertion: (text) => text.replace(element(name, field), to) };
		}
	}
	for (const signed of ["assertion", "response", "both"] satisfies Signed[]) {
		changes[`response without IssueInstant, ${signed} signed`] = { signed, response: without("IssueInstant") };
		for (const value of wrong) {
			changes[`response IssueInstant ${value}, ${signed} signed`] = { signed, response: issuedAt(value) };
		}
	}
	// The profile forbids it, even when it lies in the past.
	changes["a beginning of the confirmation"] = {
		assertion: (text) => text.replace(/(Data InResponseTo="[^"]*")/, '$1 NotBefore="2020-01-01T00:00:00Z"'),
	};
	await examiner().expect(changes, "malformed");
});

test("an assertion is remembered until it would be refused for its time", options, async () => {
	const until = async (change: Change) => (await examiner().identify(examiner().write(change))).until;
	const { now } = examiner().said;
	assert.equal(await until({}), new Date(now.getTime() + 420_000).toISOString());
	assert.equal(
		await until({ assertion: (text) => text.replace(/(Data [^>]*NotOnOrAfter=")[^"]*/, "$19999-12-31T23:59:59Z") }),
		"9999-12-31T23:59:59.999Z",
	);
});

test(
	"a login that failed at the provider, and a form of assertion that is not for browsers, are refused",
	options,
	async () => {
		const status = "urn:oasis:names:tc:SAML:2.0:status:";
		await examiner().expect(
			{
				failed: inResponse(`${status}Success`, `${status}Responder`),
				"failed inside a success": inResponse(
					`Value="${status}Success"></samlp:StatusCode>`,
					`Value="${status}Requester"><samlp:StatusCode Value="${status}Success"></samlp:StatusCode></samlp:StatusCode>`,
				),
				"no value": inResponse(` Value="${status}Success"`, ""),
				"in small letters": inResponse(`${status}Success`, `${status}success`),
			},
			"provider_error",
		);
		const method = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
		const confirmation = /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/;
		const part = (pattern: RegExp, to = ""): Change => ({ assertion: (text) => text.replace(pattern, to) });
		await examiner().expect(
			{
				"no status": { response: (text) => text.replace(/<samlp:Status>.*<\/samlp:Status>/, "") },
				"no code": { response: (text) => text.replace(/<samlp:StatusCode .*<\/samlp:StatusCode>/, "") },
				"holder of a key": inAssertion(method, "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"),
				"no method": inAssertion(` Method="${method}"`, ""),
				"no subject": part(/<saml:Subject>.*<\/saml:Subject>/),
				"no confirmation": part(confirmation),
				"no data of a confirmation": part(/<saml:SubjectConfirmationData .*<\/saml:SubjectConfirmationData>/),
				"something in the data": inAssertion(
					"</saml:SubjectConfirmationData>",
					"<x></x></saml:SubjectConfirmationData>",
				),
				"no conditions": part(/<saml:Conditions .*<\/saml:Conditions>/),
				"no login": part(/<saml:AuthnStatement .*<\/saml:AuthnStatement>/),
				"a condition that nobody knows": inAssertion(RESTRICTION, `${RESTRICTION}<saml:Condition></saml:Condition>`),
				"another version of the assertion": part(/Version="2.0"/, 'Version="1.1"'),
				"no version": part(/ Version="2.0"/),
				"another version of the response": { response: (text) => text.replace('Version="2.0"', 'Version="2.1"') },
			},
			"malformed",
		);
	},
);

test("a person is described by the attributes that the settings name", options, async () => {
	const { said, identify, write } = examiner();
	const document = write({});
	assert.deepEqual((await identify(document, { email_attribute: "other" })).email, undefined);
	assert.deepEqual((await identify(document, { name_attribute: undefined, groups_attribute: "other" })).groups, []);
	const empty = write({ assertion: swap(attribute("displayName", "Alice"), attribute("displayName", "")) });
	assert.equal((await identify(empty)).name, undefined);
	const bare = write({
		assertion: (text) => text.replace(/<saml:AttributeStatement>.*<\/saml:AttributeStatement>/, ""),
	});
	const { email, name, groups, email_verified } = await identify(bare);
	assert.deepEqual(
		{ email, name, groups, email_verified },
		{ email: undefined, name: undefined, groups: [], email_verified: false },
	);
	const byName = { said: { ...said, name_id: "alice@example.com" } };
	assert.equal((await identify(write(byName), { email_attribute: undefined })).email, "alice@example.com");
	assert.equal((await identify(document, { email_attribute: undefined })).email, undefined, "alice is no address");
	const format = '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">';
	const persistent = write({ ...byName, assertion: swap("<saml:NameID>", format) });
	assert.equal((await identify(persistent, { email_attribute: undefined })).email, undefined, "nor is an opaque name");
	const escaped = write({ said: { name_id: "a&amp;b&lt;c" } });
	assert.equal((await identify(escaped)).subject, "a&b<c");
});
