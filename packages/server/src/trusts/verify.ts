import type { KeyObject } from "node:crypto";
import { hash } from "node:crypto";
// Imported from its own module: all of jose takes 9 MiB more.
import { compactVerify } from "jose/jws/compact/verify";
import { differingPath, type NamedClaims } from "./claim-paths.ts";
import type { Claims, Jwt } from "./jwt.ts";
import { JwtRefusal } from "./refusal.ts";

/** Seconds by which an issuer's clock may differ from ours. Design: §15 */
const TOLERANCE_S = 30;

/** Seconds from `iat` to `exp`, at most: nobody should accept the year-long tokens that some issuers give out. Design: §15 */
const MAX_LIFE_S = 25 * 60 * 60;

/** Larger times are milliseconds, or no times. */
const MAX_TIME = 1e11;

/** Requirements of a trust on a JWT. */
export interface Expectation {
	/** The issuer, compared byte by byte; or, of SPIFFE, the domain whose names it vouches for. */
	issuer: string | undefined;
	trust_domain: string | undefined;
	/** True if an access token will do. */
	takes_access_tokens: boolean;
	audience: string;
	claims: NamedClaims;
}

/** Tells whether a JWT says that it is from a trust's issuer, which is not verified yet. */
export function isFrom({ claims }: Pick<Jwt, "claims">, { issuer, trust_domain }: Expectation): boolean {
	if (trust_domain === undefined) return claims.iss === issuer;
	return typeof claims.sub === "string" && claims.sub.startsWith(`spiffe://${trust_domain}/`);
}

/** Verifies the signature. @throws JwtRefusal signature */
export async function verifySignature({ text, alg }: Jwt, key: KeyObject): Promise<void> {
	try {
		await compactVerify(text, key, { algorithms: [alg] });
	} catch {
		// A key that does not fit is a TypeError, and a broken one a DataError.
		throw new JwtRefusal("signature");
	}
}

/**
 * Compares a JWT whose signature is verified with what a trust expects: times, the one audience, each named claim.
 * @param now_s Unix seconds
 * @returns the Unix seconds at which it ends
 * @throws JwtRefusal
 * Design: §15
 */
export function checkClaims({ claims, is_access_token }: Jwt, expected: Expectation, now_s: number): { exp: number } {
	if (is_access_token && !expected.takes_access_tokens) throw new JwtRefusal("header", "typ");
	const exp = checkTimes(claims, expected.trust_domain === undefined, now_s);
	const { aud } = claims;
	const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
	if (audience !== expected.audience) throw new JwtRefusal("audience", "aud");
	const path = differingPath(claims, expected.claims);
	if (path !== undefined) throw new JwtRefusal("claim", path);
	return { exp };
}

function checkTimes(claims: Claims, needs_iat: boolean, now_s: number): number {
	const exp = timeAt(claims, "exp", true) as number;
	const iat = timeAt(claims, "iat", needs_iat);
	const nbf = timeAt(claims, "nbf", false);
	if (exp - (iat ?? now_s) > MAX_LIFE_S) throw new JwtRefusal("times", "exp");
	if (now_s >= exp + TOLERANCE_S) throw new JwtRefusal("expired", "exp");
	if ((nbf ?? now_s) > now_s + TOLERANCE_S) throw new JwtRefusal("not_yet_valid", "nbf");
	if ((iat ?? now_s) > now_s + TOLERANCE_S) throw new JwtRefusal("not_yet_valid", "iat");
	return exp;
}

function timeAt(claims: Claims, name: string, is_required: boolean): number | undefined {
	const time = claims[name];
	if (time === undefined && !is_required) return undefined;
	if (typeof time !== "number" || time < 0 || time >= MAX_TIME) throw new JwtRefusal("times", name);
	return time;
}

/**
 * Computes a digest that identifies a JWT, so that it can be used once: of its id, else of what is signed. A signature has several valid spellings and is no name.
 * @param issuer the issuer or the trust domain
 */
export function jwtDigest({ claims, signed }: Jwt, issuer: string): Buffer {
	const name = typeof claims.jti === "string" ? `j${claims.jti}` : `s${signed}`;
	return hash("sha256", `${issuer}\0${name}`, "buffer");
}
