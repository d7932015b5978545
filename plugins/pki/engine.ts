import { randomBytes } from "node:crypto";
import { type Engine, EngineError, optionalText, rfc3339 } from "@svc/plugin-sdk";
import { type Authority, type CertificateRequest, issueCertificate, verifyCertificate } from "@svc/x509";
import { readCertificateParams } from "./params.ts";
import descriptor from "./plugin.json" with { type: "json" };
import type { Settings } from "./settings.ts";

/** Characters of a certificate's common name that are shown. */
const MAX_SHOWN_CHARACTERS = 64;

/**
 * The certificate authority engine. It keeps nothing of what it issues, and nothing can be revoked: certificates end by themselves.
 * Spec: ENGINES › Certificate authority engine, pki operations
 */
export function createPkiEngine({ authority, organization }: Settings, now = () => new Date()): Engine {
	const loaded = () => {
		if (authority === undefined) throw new EngineError("CA not loaded");
		return authority;
	};
	const unexpired = (instant: Date) => {
		const found = loaded();
		if (instant > found.notAfter) throw new EngineError("CA certificate has expired");
		return found;
	};
	return {
		descriptor,
		ping() {
			unexpired(now());
		},
		generate(params) {
			const { common_name, san, role, ttl, ttl_ms } = readCertificateParams(params);
			const not_before = now();
			const not_after = new Date(not_before.getTime() + ttl_ms);
			const issuer = unexpired(not_before);
			if (not_after > issuer.notAfter) {
				throw new EngineError(`ttl ${ttl} exceeds the end of the CA certificate, ${rfc3339(issuer.notAfter)}`);
			}
			const { extended_key_usage } = role;
			return issue(issuer, { common_name, organization, san, extended_key_usage, not_before, not_after, randomBytes });
		},
		validate(params) {
			const certificate = optionalText(params, "certificate") ?? "";
			const verification = verifyCertificate(certificate, loaded(), now());
			if (!verification.valid) return { ...verification };
			const { common_name, serial, expires_at } = verification;
			return { valid: true, message: `cn=${shown(common_name)} serial=${serial} expires=${expires_at}` };
		},
	};
}

/** What fails now is a name that the authority's constraints do not allow, or a step of the signing; the message says which. */
function issue(authority: Authority, request: CertificateRequest): Record<string, unknown> {
	try {
		return { ...issueCertificate(authority, request) };
	} catch (error) {
		throw new EngineError(error instanceof Error ? error.message : "signing certificate: unknown failure", {
			cause: error,
		});
	}
}

/** The authority's key may have signed names elsewhere that mislead whoever prints them. */
function shown(name: string): string {
	const plain = name.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
	return [...plain].slice(0, MAX_SHOWN_CHARACTERS).join("");
}
