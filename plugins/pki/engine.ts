import { randomBytes } from "node:crypto";
import { type Engine, EngineError, optionalText, rfc3339 } from "@svc/plugin-sdk";
import { type Authority, type CertificateRequest, issueCertificate, verifyCertificate } from "@svc/x509";
import { createAuthorities } from "./authorities.ts";
import { readCertificateParams } from "./params.ts";
import descriptor from "./plugin.json" with { type: "json" };
import type { Settings } from "./settings.ts";

/** Characters shown of a certificate's common name. */
const MAX_SHOWN_CHARACTERS = 64;

/**
 * Makes the certificate authority engine. It stores no certificate, and cannot revoke any: certificates expire by themselves.
 * Spec: ENGINES › Certificate authority engine, pki operations
 */
export function createPkiEngine(settings: Settings, now = () => new Date()): Engine {
	const { organization } = settings;
	const find = createAuthorities(settings);
	const unexpired = (params: Record<string, unknown>, instant: Date) => {
		const found = find(params);
		if (instant > found.notAfter) throw new EngineError("CA certificate has expired");
		return found;
	};
	return {
		descriptor,
		ping(params) {
			// Without a realm there is no authority to check.
			if (settings.authority === "per request" && params._authority === undefined) return;
			unexpired(params, now());
		},
		generate(params) {
			const { common_name, san, role, ttl, ttl_ms } = readCertificateParams(params);
			const not_before = now();
			const not_after = new Date(not_before.getTime() + ttl_ms);
			const issuer = unexpired(params, not_before);
			if (not_after > issuer.notAfter) {
				throw new EngineError(`ttl ${ttl} exceeds the end of the CA certificate, ${rfc3339(issuer.notAfter)}`);
			}
			const { extended_key_usage } = role;
			return issue(issuer, { common_name, organization, san, extended_key_usage, not_before, not_after, randomBytes });
		},
		validate(params) {
			const certificate = optionalText(params, "certificate") ?? "";
			const verification = verifyCertificate(certificate, find(params), now());
			if (!verification.valid) return { ...verification };
			const { common_name, serial, expires_at } = verification;
			return { valid: true, message: `cn=${shown(common_name)} serial=${serial} expires=${expires_at}` };
		},
	};
}

/** Issues a certificate. It can only fail at a name that the authority's constraints forbid, or while signing; the message says which. */
function issue(authority: Authority, request: CertificateRequest): Record<string, unknown> {
	try {
		return { ...issueCertificate(authority, request) };
	} catch (error) {
		throw new EngineError(error instanceof Error ? error.message : "signing certificate: unknown failure", {
			cause: error,
		});
	}
}

/** Escapes control characters: the authority's key may have signed misleading names elsewhere. */
function shown(name: string): string {
	const plain = name.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
	return [...plain].slice(0, MAX_SHOWN_CHARACTERS).join("");
}
