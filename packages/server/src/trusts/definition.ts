import { X509Certificate } from "node:crypto";
import { DurationError, parseDuration } from "@svc/protocol";
import type * as v from "valibot";
import { AppError } from "../errors.ts";
import { isClaimPath, type NamedClaims } from "./claim-paths.ts";
import { ambiguityOf, issuerTypeOf } from "./issuer-types.ts";
import { readKeys } from "./jwks.ts";
import { MAX_TTL_MS, type SetTrust, type Trust } from "./model.ts";

/** A trust as a request sets it. */
export type TrustInput = v.InferOutput<typeof SetTrust>;

/** The part of a trust that a request decides. */
export type Definition = Pick<
	Trust,
	"type" | "issuer" | "trust_domain" | "audience" | "claims" | "max_ttl_ms" | "single_use" | "jwks" | "ca_cert"
>;

/** Claims of one trust, characters of a path, and bytes of all as JSON. */
const [MAX_CLAIMS, MAX_PATH, MAX_CLAIMS_BYTES] = [20, 255, 4096];

/** Keys that a trust can have, and their bytes as JSON. */
const [MAX_KEYS, MAX_KEYS_BYTES] = [20, 16_384];

/** Characters that others read as patterns: nobody should believe that we do. */
const PATTERN = /[*?{]/;

const DOMAIN = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/;
const AUDIENCE = /^[\x21-\x7e]{8,255}$/;
const GITHUB = /(^|\.)(github\.com|githubusercontent\.com|ghe\.com)$/;

/**
 * Reads what a request says of a trust, and refuses what would let more in than one workload.
 * @throws AppError validation_failed, invalid_ttl
 * Design: §15
 */
export function defineTrust(input: TrustInput): Definition {
	const { issuer, trust_domain } = readIssuer(input);
	const known = issuerTypeOf(issuer, input.type);
	if (known === undefined) throw invalid("type is not that of this issuer: leave it out, and the server chooses it");
	refuseAudience(input.audience, issuer, known.type);
	const claims = readClaims(input.claims);
	const problem = ambiguityOf({ issuer, type: known.type }, claims) ?? nameProblem(trust_domain, claims);
	if (problem !== undefined) throw invalid(problem);
	return {
		type: known.type,
		issuer,
		trust_domain,
		audience: input.audience,
		claims: JSON.stringify(claims),
		max_ttl_ms: readLife(input.max_ttl),
		single_use: input.single_use ?? known.single_use,
		...readTrustedKeys(input),
	};
}

const invalid = (message: string) => new AppError("validation_failed", message);

function readIssuer({ issuer, trust_domain, jwks }: TrustInput): Pick<Trust, "issuer" | "trust_domain"> {
	if ((issuer === null) === (trust_domain === null)) throw invalid("issuer or trust_domain is required, and not both");
	if (issuer === null) {
		if (trust_domain === null || !DOMAIN.test(trust_domain))
			throw invalid("trust_domain must be a SPIFFE trust domain such as prod.example.com");
		if (jwks === null) throw invalid("trust_domain needs jwks: the domain's bundle");
		return { issuer, trust_domain };
	}
	const url = URL.parse(issuer);
	// Two spellings of one address would be two issuers.
	const isPlain = url !== null && (url.href === issuer || url.href === `${issuer}/`);
	if (!isPlain || url.protocol !== "https:" || url.username !== "" || url.password !== "" || /[?#]/.test(issuer))
		throw invalid("issuer must be an https address as the issuer writes it, without user, ? and #");
	return { issuer, trust_domain };
}

function refuseAudience(audience: string, issuer: string | null, type: Trust["type"]): void {
	if (!AUDIENCE.test(audience))
		throw invalid("audience must have 8 to 255 characters, without blanks: the server's address is a good one");
	const host = URL.parse(audience)?.hostname ?? "";
	const isCluster = type === "kubernetes" && host.startsWith("kubernetes.default");
	if (audience === issuer || audience === `${issuer}/` || GITHUB.test(host) || isCluster)
		throw invalid(
			"audience must not be the issuer, GitHub or the cluster, whose JWTs go elsewhere too: name this server",
		);
}

function readClaims(claims: TrustInput["claims"]): NamedClaims {
	const paths = Object.keys(claims);
	if (paths.length === 0 || paths.length > MAX_CLAIMS) throw invalid(`claims must name 1 to ${MAX_CLAIMS} claims`);
	if (!paths.every((path) => isClaimPath(path) && path.length <= MAX_PATH))
		throw invalid(`a name in claims must be that of a claim, or a JSON pointer, with at most ${MAX_PATH} characters`);
	for (const value of Object.values(claims)) {
		if (value === "") throw invalid("a text in claims must not be empty");
		if (typeof value === "string" && PATTERN.test(value))
			throw invalid("a text in claims is compared as it is: it must not contain *, ? or {");
	}
	if (Buffer.byteLength(JSON.stringify(claims)) > MAX_CLAIMS_BYTES)
		throw invalid(`claims must be at most ${MAX_CLAIMS_BYTES} bytes of JSON`);
	return claims;
}

/** A domain's keys vouch for its own names only. */
function nameProblem(trust_domain: string | null, { sub }: NamedClaims): string | undefined {
	if (trust_domain === null || String(sub).startsWith(`spiffe://${trust_domain}/`)) return undefined;
	return "sub must be a SPIFFE ID of the trust domain, such as spiffe://prod.example.com/deploy";
}

function readLife(max_ttl: string): number {
	try {
		const life_ms = parseDuration(max_ttl);
		if (life_ms >= 1000 && life_ms <= MAX_TTL_MS) return Math.floor(life_ms);
	} catch (error) {
		if (!(error instanceof DurationError)) throw error;
		throw new AppError("invalid_ttl", `invalid max_ttl: ${error.message}`);
	}
	throw new AppError("invalid_ttl", "max_ttl must be 1s to 1h");
}

function readTrustedKeys({ jwks, ca_cert }: TrustInput): Pick<Trust, "jwks" | "ca_cert"> {
	if (jwks !== null && ca_cert !== null)
		throw invalid("jwks and ca_cert exclude each other: with jwks nothing is fetched");
	if (ca_cert !== null && !isCertificate(ca_cert)) throw invalid("ca_cert must be certificates as PEM");
	if (jwks === null) return { jwks, ca_cert };
	const { length } = jwks.keys;
	if (length === 0 || length > MAX_KEYS || readKeys(jwks.keys).length < length)
		throw invalid(
			`jwks must hold 1 to ${MAX_KEYS} public keys that verify signatures: RSA from 2048 bits, P-256, P-384, P-521 or Ed25519, and no private parts`,
		);
	const text = JSON.stringify({ keys: jwks.keys });
	if (Buffer.byteLength(text) > MAX_KEYS_BYTES) throw invalid(`jwks must be at most ${MAX_KEYS_BYTES} bytes of JSON`);
	return { jwks: text, ca_cert };
}

function isCertificate(pem: string): boolean {
	try {
		return new X509Certificate(pem).subject !== undefined;
	} catch {
		return false;
	}
}
