import { hash } from "node:crypto";
import { JOSEError, JWKSNoMatchingKey } from "jose/errors";
// Imported from their own modules: all of jose takes 9 MiB more.
import { SignJWT } from "jose/jwt/sign";
import { jwtVerify } from "jose/jwt/verify";
import { createCache } from "../cache.ts";
import type { System } from "../system.ts";
import type { KeySet, MacKey } from "./key-set.ts";
import { wasInUse } from "./session-keys.ts";

/** Seconds for which a session token is valid. Spec: API › Limits. */
export const SESSION_SECONDS = 86_400;

const ALGORITHM = "HS256";
/** Keeps any other JWT that this key may one day sign from passing as a session. */
const TYPE = "svc-session+jwt";
/** Type of a session of the console: it is no bearer, and a bearer is no session of the console. Design: §16 */
export const CONSOLE_TYPE = "svc-console+jwt";
const MAX_TOKEN_CHARACTERS = 4096;
const MAX_REMEMBERED = 10_000;
/** Seconds that the clock may have been set back since a token was issued. */
const SET_BACK = 5;

/** Claims of a session token. */
interface SessionClaims {
	/** User id. */
	sub: string;
	/** Id of the session's row. */
	jti: string;
	/** Unix seconds. */
	exp: number;
	/** Unix seconds at which its owner signed in at a provider, as far as the provider says so. */
	auth_time?: number | undefined;
}

/** Makes and checks session tokens: JWTs that only this server signs and reads. */
export interface SessionTokens {
	/** Signs a token. @param claims `iat` and `exp` in Unix seconds, at most SESSION_SECONDS apart */
	sign(claims: SessionClaims & { iat: number }): Promise<string>;
	/** Returns the claims, or undefined unless it is exactly a valid session token of ours. The store knows whether its session still lives. */
	verify(token: string): Promise<SessionClaims | undefined>;
}

/**
 * Makes the signer and checker of session tokens. It remembers verified tokens, at most until they expire.
 * @param keys returns the current session keys
 * @param type the only kind of token that it makes and accepts
 * Design: §6.
 */
export function createSessionTokens(
	keys: () => KeySet<MacKey>,
	system: Pick<System, "now">,
	type: string = TYPE,
): SessionTokens {
	const verified = createCache<string, SessionClaims>(MAX_REMEMBERED);
	const isLive = (claims: SessionClaims) => claims.exp * 1000 > system.now().getTime();
	return {
		sign({ sub, jti, iat, exp, auth_time }) {
			const { id, bytes } = keys().active;
			const header = { alg: ALGORITHM, typ: type, kid: id };
			const claims = { sub, jti, iat, exp, ...(auth_time !== undefined && { auth_time }) };
			return new SignJWT(claims).setProtectedHeader(header).sign(bytes);
		},
		async verify(token) {
			if (token.length > MAX_TOKEN_CHARACTERS || !isCanonical(token)) return undefined;
			const digest = hash("sha256", token, "base64url");
			const known = verified.get(digest);
			if (known !== undefined) return isLive(known) ? known : undefined;
			const claims = await verifyToken(token, type, keys(), system.now());
			if (claims === undefined || !isLive(claims)) return undefined;
			verified.set(digest, claims);
			return claims;
		},
	};
}

/** Tells whether the signature has its only canonical spelling: decoders accept padding and any unused bits in the last character. */
export function isCanonical(token: string): boolean {
	const signature = token.slice(token.lastIndexOf(".") + 1);
	return Buffer.from(signature, "base64url").toString("base64url") === signature;
}

async function verifyToken(
	token: string,
	typ: string,
	keys: KeySet<MacKey>,
	now: Date,
): Promise<SessionClaims | undefined> {
	let used: MacKey | undefined;
	const findKey = ({ kid }: { kid?: string }) => {
		const key = kid === undefined ? undefined : keys.byId.get(kid);
		if (key === undefined) throw new JWKSNoMatchingKey();
		used = key;
		return key.bytes;
	};
	try {
		const { payload } = await jwtVerify(token, findKey, {
			algorithms: [ALGORITHM],
			typ,
			requiredClaims: ["exp", "iat", "sub", "jti"],
			maxTokenAge: SESSION_SECONDS,
			clockTolerance: SET_BACK,
			currentDate: now,
		});
		const { sub, jti, exp = Number.NaN, iat = Number.NaN, auth_time } = payload;
		if (typeof sub !== "string" || typeof jti !== "string" || !Number.isSafeInteger(exp)) return undefined;
		if (used === undefined || !wasInUse(used, iat * 1000)) return undefined;
		return Number.isSafeInteger(auth_time) ? { sub, jti, exp, auth_time: Number(auth_time) } : { sub, jti, exp };
	} catch (error) {
		if (error instanceof JOSEError) return undefined;
		throw error;
	}
}
