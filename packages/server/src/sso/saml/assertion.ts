import { SsoRefusal } from "../model.ts";
import { checkIssuer, checkVersion } from "./response.ts";
import { checkNotBefore, checkNotOnOrAfter, parseInstant, refusedFrom } from "./times.ts";
import { attribute, childrenOf, is, named, only, textOf } from "./xml.ts";

const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

/** Conditions that we understand; any other makes an assertion invalid. */
const CONDITIONS = ["AudienceRestriction", "OneTimeUse", "ProxyRestriction"];

/** The values that an assertion must have. */
export interface ExpectedAssertion {
	/** Entity id of the provider. */
	issuer: string;
	/** Our entity id. */
	audience: string;
	acs_url: string;
	request_ids: readonly string[];
	/** Milliseconds since 1970. */
	now_ms: number;
}

/** The facts that make an assertion good for one login only. */
export interface OneLogin {
	/** The open request that it answers. */
	request_id: string;
	assertion_id: string;
	/** ISO 8601 UTC instant until which the assertion must be remembered. */
	until: string;
	/** Milliseconds since 1970 at which the person signed in at the provider. */
	authenticated_ms: number;
}

/**
 * Checks that a signed assertion was made for us, for one of these requests, and for now.
 * @throws SsoRefusal
 * Design: §11
 */
export function checkAssertion(assertion: Element, expected: ExpectedAssertion): OneLogin {
	checkVersion(assertion);
	checkIssuer(only(assertion, "assertion", "Issuer"), expected.issuer);
	checkNotBefore(attribute(assertion, "IssueInstant"), expected.now_ms);
	const confirmation = confirmationOf(assertion);
	checkRecipient(confirmation, expected.acs_url);
	checkConfirmationTime(confirmation, expected.now_ms);
	checkConditions(only(assertion, "assertion", "Conditions"), expected);
	const authenticated_ms = checkSession(only(assertion, "assertion", "AuthnStatement"), expected.now_ms);
	return {
		request_id: requestOf(confirmation, expected.request_ids),
		assertion_id: attribute(assertion, "ID") ?? "",
		until: refusedFrom(attribute(confirmation, "NotOnOrAfter")),
		authenticated_ms,
	};
}

/** Reads the one bearer confirmation. */
function confirmationOf(assertion: Element): Element {
	const confirmation = only(only(assertion, "assertion", "Subject"), "assertion", "SubjectConfirmation");
	if (attribute(confirmation, "Method") !== BEARER) throw new SsoRefusal("malformed");
	const data = only(confirmation, "assertion", "SubjectConfirmationData");
	if (childrenOf(data).length > 0) throw new SsoRefusal("malformed");
	return data;
}

function checkRecipient(confirmation: Element, acs_url: string): void {
	if (attribute(confirmation, "Recipient") !== acs_url) throw new SsoRefusal("recipient");
}

/** The profile forbids NotBefore here. */
function checkConfirmationTime(confirmation: Element, now_ms: number): void {
	if (attribute(confirmation, "NotBefore") !== undefined) throw new SsoRefusal("malformed");
	checkNotOnOrAfter(attribute(confirmation, "NotOnOrAfter"), now_ms);
}

function requestOf(confirmation: Element, request_ids: readonly string[]): string {
	const id = attribute(confirmation, "InResponseTo");
	if (id === undefined || !request_ids.includes(id)) throw new SsoRefusal("request");
	return id;
}

function checkConditions(conditions: Element, { audience, now_ms }: ExpectedAssertion): void {
	const isKnown = (child: Element) => CONDITIONS.some((name) => is(child, "assertion", name));
	if (!childrenOf(conditions).every(isKnown)) throw new SsoRefusal("malformed");
	checkNotBefore(attribute(conditions, "NotBefore"), now_ms);
	checkNotOnOrAfter(attribute(conditions, "NotOnOrAfter"), now_ms);
	const restrictions = named(conditions, "assertion", "AudienceRestriction");
	const names = (restriction: Element) => named(restriction, "assertion", "Audience").map(textOf);
	// Any audience of a restriction satisfies it; all restrictions must be satisfied.
	const isForUs = restrictions.every((restriction) => names(restriction).includes(audience));
	if (restrictions.length === 0 || !isForUs) throw new SsoRefusal("audience");
}

/** Checks that the person signed in at the provider, and that the session there has not ended. @returns when, in milliseconds since 1970 */
function checkSession(statement: Element, now_ms: number): number {
	const authenticated = attribute(statement, "AuthnInstant");
	checkNotBefore(authenticated, now_ms);
	const end = attribute(statement, "SessionNotOnOrAfter");
	if (end !== undefined) checkNotOnOrAfter(end, now_ms);
	return parseInstant(authenticated);
}
