import { JsonError, parseJson } from "@svc/protocol";
import { PUBLIC_KEY_ALGORITHMS } from "../crypto/public-key-algorithms.ts";
import { JwtRefusal } from "./refusal.ts";

/** Characters of a JWT, checked before anything is decoded. Design: §15 */
const MAX_CHARACTERS = 16_384;

/** Characters of a JWT's id. */
const MAX_ID_CHARACTERS = 255;

/** Media types of a JWT that says who its bearer is; `at+jwt` is an access token. */
const TYPES: readonly string[] = ["jwt", "jose", "at+jwt"];

/** A JSON object that was received. */
export type Claims = Readonly<Record<string, unknown>>;

/** A JWT that has been read, and not verified. */
export interface Jwt {
	/** As it was received. */
	text: string;
	/** The characters that its signature covers. */
	signed: string;
	alg: string;
	kid: string | undefined;
	/** True for an access token. */
	is_access_token: boolean;
	claims: Claims;
}

/**
 * Reads a JWT so that it has one spelling and one meaning: strict base64url, strict JSON, and no header field that changes what is signed.
 * @throws JwtRefusal malformed, header
 * Design: §15
 */
export function readJwt(text: string): Jwt {
	if (text.length > MAX_CHARACTERS) throw new JwtRefusal("malformed");
	const parts = text.split(".", 4);
	if (parts.length !== 3) throw new JwtRefusal("malformed");
	const [header, claims] = parts.map(decode).slice(0, 2).map(readObject) as [Claims, Claims];
	const { jti } = claims;
	const is_id = jti === undefined || (typeof jti === "string" && jti !== "" && jti.length <= MAX_ID_CHARACTERS);
	if (!is_id) throw new JwtRefusal("malformed", "jti");
	return { text, signed: text.slice(0, text.lastIndexOf(".")), ...readHeader(header), claims };
}

/** Decodes one part. Decoders accept padding, blanks and unused bits, so only what comes out again is taken. */
function decode(part: string): Buffer {
	const bytes = Buffer.from(part, "base64url");
	if (part === "" || bytes.toString("base64url") !== part) throw new JwtRefusal("malformed");
	return bytes;
}

function readObject(bytes: Buffer): Claims {
	try {
		const value = parseJson(bytes);
		if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Claims;
	} catch (error) {
		if (!(error instanceof JsonError)) throw error;
	}
	throw new JwtRefusal("malformed");
}

/** Reads the header. A key or an address in it has no effect. */
function readHeader(header: Claims): Pick<Jwt, "alg" | "kid" | "is_access_token"> {
	const { alg, kid, typ = "JWT" } = header;
	if (typeof alg !== "string" || !PUBLIC_KEY_ALGORITHMS.includes(alg)) throw new JwtRefusal("header", "alg");
	if (Object.hasOwn(header, "crit")) throw new JwtRefusal("header", "crit");
	if (Object.hasOwn(header, "b64")) throw new JwtRefusal("header", "b64");
	if (typeof typ !== "string" || !TYPES.includes(typ.toLowerCase())) throw new JwtRefusal("header", "typ");
	if (kid !== undefined && (typeof kid !== "string" || kid === "")) throw new JwtRefusal("header", "kid");
	return { alg, kid, is_access_token: typ.toLowerCase() === "at+jwt" };
}
