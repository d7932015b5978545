import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type RefusalReason, SsoRefusal } from "../../packages/server/src/sso/model.ts";
import { createSaml, type Saml, type SamlIdentity } from "../../packages/server/src/sso/saml/saml.ts";
import type { SamlSettings } from "../../packages/server/src/sso/settings.ts";
import {
	asField,
	type Change,
	makeKey,
	type Said,
	type SigningKey,
	skipWithoutOpenssl,
	writeDocument,
} from "./saml-documents.ts";

const SP = { entity_id: "https://svc.example.com/metadata", acs_url: "https://svc.example.com/acs" };
const REQUEST_ID = "_request-1";
const SOURCE = "192.0.2.1";

/** Settings that every type of provider has. */
export const COMMON = { auto_provision: true, allowed_domains: [], trusted_email_domains: [], role_mappings: [] };

/** The part of the server that reads responses, with a provider whose key the test has. */
export interface Examiner {
	saml: Saml;
	key: SigningKey;
	settings: SamlSettings;
	sp: typeof SP;
	/** The content of an honest response. */
	said: Said;
	/** Reads a response to an open request. @param document its text or bytes */
	identify(document: string | Buffer, changes?: Partial<SamlSettings>): Promise<SamlIdentity>;
	/** Reads a response from another source address than the usual one. */
	identifyFrom(source: string, document: string): Promise<SamlIdentity>;
	/** Reads the form's field as it is. */
	identifyField(field: string): Promise<SamlIdentity>;
	/** Writes a response with one change. */
	write(change: Change): string;
	/** Returns the reason for each refusal, or "accepted". */
	verdicts(documents: Record<string, string | Buffer>): Promise<Record<string, string>>;
	/** Fails unless every response with one of these changes gets the same verdict. */
	expect(changes: Record<string, Change>, verdict: RefusalReason | "accepted"): Promise<void>;
	stop(): Promise<void>;
}

/** Makes an examiner with a new key for a test file, and stops it at the end of the file. */
export function useExaminer(): () => Examiner {
	let examiner: Examiner | undefined;
	before(() => {
		if (skipWithoutOpenssl === false) examiner = startExaminer();
	});
	after(() => examiner?.stop());
	return () => {
		assert.ok(examiner);
		return examiner;
	};
}

function startExaminer(): Examiner {
	const saml = createSaml();
	const key = makeKey("rsa:2048");
	const now = new Date();
	const settings: SamlSettings = {
		idp_entity_id: "https://idp.example.com/",
		idp_sso_url: "https://idp.example.com/sso",
		idp_certificate: key.certificate,
		email_attribute: "mail",
		name_attribute: "displayName",
		groups_attribute: "groups",
		...COMMON,
	};
	const read = (response: string, changes = {}, source = SOURCE) => {
		const answer = { response, request_ids: ["_request-0", REQUEST_ID], source, now };
		return saml.identify({ ...settings, ...changes }, SP, answer);
	};
	const said = honestly(now);
	const verdicts = async (documents: Record<string, string | Buffer>) => {
		const found: Record<string, string> = {};
		for (const [name, document] of Object.entries(documents)) found[name] = await verdictOf(read(asField(document)));
		return found;
	};
	return {
		saml,
		key,
		settings,
		sp: SP,
		said,
		identify: (document, changes) => read(asField(document), changes),
		identifyFrom: (source, document) => read(asField(document), {}, source),
		identifyField: (field) => read(field),
		write: (change) => writeDocument(said, key, change),
		verdicts,
		async expect(changes, verdict) {
			const documents = Object.entries(changes).map(([name, change]) => [name, writeDocument(said, key, change)]);
			assert.deepEqual(await verdicts(Object.fromEntries(documents)), each(changes, verdict));
		},
		stop: () => saml.close(),
	};
}

/** @throws the error itself when it is not a refusal */
async function verdictOf(reading: Promise<SamlIdentity>): Promise<string> {
	try {
		await reading;
		return "accepted";
	} catch (error) {
		if (error instanceof SsoRefusal) return error.reason;
		throw error;
	}
}

/** Returns the same verdict for each document, as the expected value of a table. */
export function each(documents: Record<string, unknown>, verdict: RefusalReason | "accepted"): Record<string, string> {
	return Object.fromEntries(Object.keys(documents).map((name) => [name, verdict]));
}

function honestly(now: Date): Said {
	return {
		issuer: "https://idp.example.com/",
		audience: SP.entity_id,
		acs_url: SP.acs_url,
		request_id: REQUEST_ID,
		now,
		name_id: "alice",
		response_id: "_response-1",
		assertion_id: "_assertion-1",
		not_before_s: -30,
		not_on_or_after_s: 300,
		confirmed_until_s: 300,
		issued_s: 0,
		signed_in_s: -5,
		session_until_s: 28_800,
	};
}
