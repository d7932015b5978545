import { createPublicKey, type KeyObject, type webcrypto } from "node:crypto";
import type { Claims, Jwt } from "./jwt.ts";
import { JwtRefusal } from "./refusal.ts";

/** Bits of an RSA key: fewer are weak, and more only cost time. Design: §15 */
const [MIN_RSA_BITS, MAX_RSA_BITS] = [2048, 8192];

/** Bytes of an RSA key's public exponent: a long one costs time. */
const MAX_EXPONENT_BYTES = 4;

/** Curves of the algorithms that need a certain one. */
const CURVES: Readonly<Record<string, string>> = {
	ES256: "P-256",
	ES384: "P-384",
	ES512: "P-521",
	EdDSA: "Ed25519",
	Ed25519: "Ed25519",
};

/** Members that a private or shared key has. */
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Uses of a key that verifies; SPIFFE has a word of its own. */
const USES: readonly unknown[] = [undefined, "sig", "jwt-svid"];

/** A public key of an issuer. */
export interface IssuerKey {
	kid: string | undefined;
	/** The only algorithm that it is for, if it says so. */
	alg: string | undefined;
	/** Curve, or `RSA`. */
	kind: string;
	key: KeyObject;
}

/** Reads one key; undefined if it is not a public key that verifies JWTs. */
function readKey(jwk: Claims): IssuerKey | undefined {
	const { kid, alg, use, key_ops } = jwk;
	if (PRIVATE.some((name) => Object.hasOwn(jwk, name)) || !USES.includes(use)) return undefined;
	if (!isTextOrAbsent(kid) || !isTextOrAbsent(alg)) return undefined;
	if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes("verify"))) return undefined;
	const wanted = shapeOf(jwk);
	if (wanted === undefined) return undefined;
	try {
		const key = createPublicKey({ key: wanted, format: "jwk" });
		return isStrong(key) ? { kid, alg, kind: wanted.crv ?? "RSA", key } : undefined;
	} catch {
		return undefined;
	}
}

function isTextOrAbsent(value: unknown): value is string | undefined {
	return value === undefined || typeof value === "string";
}

/** Picks the members that make the key. */
function shapeOf({ kty, crv, x, y, n, e }: Claims): webcrypto.JsonWebKey | undefined {
	const has = (...members: unknown[]) => members.every((member) => typeof member === "string");
	if (kty === "RSA" && has(n, e)) return { kty, n, e } as webcrypto.JsonWebKey;
	if (typeof crv !== "string" || !Object.values(CURVES).includes(crv)) return undefined;
	if (kty === "EC" && has(x, y)) return { kty, crv, x, y } as webcrypto.JsonWebKey;
	return kty === "OKP" && has(x) ? ({ kty, crv, x } as webcrypto.JsonWebKey) : undefined;
}

function isStrong(key: KeyObject): boolean {
	if (key.asymmetricKeyType !== "rsa") return true;
	const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
	const is_short = publicExponent < 1n << BigInt(8 * MAX_EXPONENT_BYTES);
	return modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS && publicExponent > 2n && is_short;
}

/** Reads the usable keys of a set: a broken one does no harm to the others. */
export function readKeys(jwks: readonly Claims[]): IssuerKey[] {
	return jwks.map(readKey).filter((key) => key !== undefined);
}

/** Picks the keys of a set that a JWT may be signed with by their description alone: importing one takes up to a millisecond. */
export function keysFor(jwks: readonly Claims[], { alg, kid }: Pick<Jwt, "alg" | "kid">): Claims[] {
	const kind = kindFor(alg);
	return jwks.filter(
		(jwk) => (jwk.crv ?? "RSA") === kind && (jwk.alg ?? alg) === alg && (kid === undefined || jwk.kid === kid),
	);
}

const kindFor = (alg: string) => CURVES[alg] ?? "RSA";

/** Finds the one key that a JWT may be signed with. @throws JwtRefusal key, when there is none or more than one */
export function findKey(keys: readonly IssuerKey[], { alg, kid }: Pick<Jwt, "alg" | "kid">): KeyObject {
	const kind = kindFor(alg);
	const fitting = keys.filter(
		(key) => key.kind === kind && (key.alg ?? alg) === alg && (kid === undefined || key.kid === kid),
	);
	const [first, ...others] = fitting;
	if (first === undefined || others.length > 0) throw new JwtRefusal("key");
	return first.key;
}
