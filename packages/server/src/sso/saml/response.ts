import { SsoRefusal } from "../model.ts";
import { checkNotBefore } from "./times.ts";
import { atMostOne, attribute, only, textOf } from "./xml.ts";

const SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success";

/** The values that a response must have. */
export interface ExpectedResponse {
	/** Entity id of the provider. */
	issuer: string;
	acs_url: string;
	/** Milliseconds since 1970. */
	now_ms: number;
}

/**
 * Checks a response outside its assertion. This part may be unsigned: all of it can refuse a login, none can admit one.
 * @throws SsoRefusal
 * Design: §11
 */
export function checkResponse(response: Element, expected: ExpectedResponse): void {
	checkVersion(response);
	checkNotBefore(attribute(response, "IssueInstant"), expected.now_ms);
	checkStatus(response);
	checkDestination(response, expected.acs_url);
	const issuer = atMostOne(response, "assertion", "Issuer");
	if (issuer !== undefined) checkIssuer(issuer, expected.issuer);
}

/** Refuses a response to another request than the one that its assertion names. @throws SsoRefusal request */
export function checkInResponseTo(response: Element, request_id: string): void {
	const named = attribute(response, "InResponseTo");
	if (named !== undefined && named !== request_id) throw new SsoRefusal("request");
}

/** @throws SsoRefusal malformed */
export function checkVersion(element: Element): void {
	if (attribute(element, "Version") !== "2.0") throw new SsoRefusal("malformed");
}

/** @throws SsoRefusal issuer, malformed */
export function checkIssuer(issuer: Element, expected: string): void {
	if (textOf(issuer) !== expected) throw new SsoRefusal("issuer");
}

function checkStatus(response: Element): void {
	const code = only(only(response, "protocol", "Status"), "protocol", "StatusCode");
	if (attribute(code, "Value") !== SUCCESS) throw new SsoRefusal("provider_error");
}

function checkDestination(response: Element, acs_url: string): void {
	const destination = attribute(response, "Destination");
	if (destination !== undefined && destination !== acs_url) throw new SsoRefusal("recipient");
}
