import type { Asserted } from "../model.ts";
import { checkAssertion, type OneLogin } from "./assertion.ts";
import { readDocument } from "./document.ts";
import type { ServiceProvider } from "./messages.ts";
import type { IdentityProvider } from "./provider.ts";
import { checkInResponseTo, checkResponse } from "./response.ts";
import { readSigned } from "./signature.ts";
import { decodeStrictXml } from "./strict-xml.ts";
import { type AttributeNames, readSubject } from "./subject.ts";

/** A response, and the values to check it against. */
export interface Examination {
	/** The form's field, base64. */
	field: string;
	sp: ServiceProvider;
	/** Identifiers of the requests that it may answer. */
	request_ids: readonly string[];
	attributes: AttributeNames;
	/** Milliseconds since 1970. */
	now_ms: number;
}

/**
 * Identifies the person in a provider's response after checking all of it.
 * @throws SsoRefusal
 * Design: §11
 */
export function identify(provider: IdentityProvider, examination: Examination): Asserted & OneLogin {
	const { sp, request_ids, attributes, now_ms } = examination;
	const expected = { issuer: provider.entity_id, audience: sp.entity_id, acs_url: sp.acs_url, request_ids, now_ms };
	const document = readDocument(decodeStrictXml(examination.field));
	const assertion = readSigned(document, provider.certificates);
	checkResponse(document.response, expected);
	const login = checkAssertion(assertion, expected);
	checkInResponseTo(document.response, login.request_id);
	return { issuer: provider.entity_id, ...readSubject(assertion, attributes), ...login };
}
