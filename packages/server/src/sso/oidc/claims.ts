import { createHash } from "node:crypto";
import type { IDToken, TokenEndpointResponse } from "openid-client";
import { type Asserted, SsoRefusal } from "../model.ts";
import type { OidcSettings } from "../settings.ts";

/** Claims of an id_token or of userinfo. */
type Claims = Record<string, unknown>;

/** Characters of a subject. Spec: OpenID Connect Core 1.0 §2 */
const MAX_SUBJECT_CHARACTERS = 255;

/** Checks what the library leaves to us: `sub` within bounds, `azp` and `at_hash` if present. @throws SsoRefusal */
export function checkIdToken(claims: IDToken, tokens: TokenEndpointResponse, { client_id }: OidcSettings): void {
	const { sub, azp, at_hash } = claims;
	if (sub === "" || sub.length > MAX_SUBJECT_CHARACTERS) throw new SsoRefusal("subject");
	if (azp !== undefined && azp !== client_id) throw new SsoRefusal("audience");
	if (at_hash !== undefined && at_hash !== hashOf(tokens)) throw new SsoRefusal("malformed");
}

/** Left half of the access token's digest, with the digest of the id_token's signature. Spec: OpenID Connect Core 1.0 §3.1.3.6 */
function hashOf({ access_token, id_token = "" }: TokenEndpointResponse): string {
	const { alg } = JSON.parse(Buffer.from(id_token.split(".", 1).join(), "base64url").toString());
	const bits = /\d{3}$/.exec(alg)?.[0] ?? "512";
	const digest = createHash(`sha${bits}`).update(access_token).digest();
	return digest.subarray(0, digest.length / 2).toString("base64url");
}

/** Tells whether the id_token lacks a claim that we use, so that userinfo is worth a request. */
export function isIncomplete(claims: Claims, { groups_claim }: OidcSettings): boolean {
	const wanted = groups_claim === undefined ? ["email", "name"] : ["email", "name", groups_claim];
	return wanted.some((claim) => claims[claim] === undefined);
}

/** Reads a person from claims. The id_token's override userinfo's; the claim that verifies an address comes from the same source as the address. */
export function readClaims(id_token: IDToken, userinfo: Claims, { issuer, groups_claim }: OidcSettings): Asserted {
	const addressed = text(id_token.email) === undefined ? userinfo : id_token;
	return {
		issuer,
		subject: id_token.sub,
		email: text(addressed.email),
		email_verified: addressed.email_verified === true,
		name: text(id_token.name) ?? text(userinfo.name),
		groups: groups_claim === undefined ? [] : list(id_token[groups_claim] ?? userinfo[groups_claim]),
		// Only the id_token's: userinfo is not about this sign-in.
		...(id_token.auth_time !== undefined && { authenticated_ms: id_token.auth_time * 1000 }),
	};
}

function text(claim: unknown): string | undefined {
	return typeof claim === "string" && claim !== "" ? claim : undefined;
}

/** Some providers send a single group as plain text. */
function list(claim: unknown): string[] {
	return [claim].flat().filter((group) => text(group) !== undefined) as string[];
}
