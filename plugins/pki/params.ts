import { isIP } from "node:net";
import { EngineError, optionalText, optionalTexts, ParamsError, parseTtl } from "@svc/plugin-sdk";
import { faultOfName, isHostName } from "@svc/x509";
import { findRole, type Role } from "./roles.ts";

/** The request for a certificate. */
export interface CertificateParams {
	common_name: string;
	san: string[];
	role: Role;
	/** Milliseconds, at least 1,000. */
	ttl_ms: number;
	/** The ttl as written. */
	ttl: string;
}

const DEFAULT_TTL = "30d";
const MAX_SAN_ENTRIES = 100;

/**
 * Reads the params of generate.
 * @throws EngineError `common_name is required`, `invalid ttl: …` or `ttl … exceeds max … for role …`
 * @throws ParamsError for everything else that no certificate can contain
 * Spec: ENGINES › pki operations, Errors
 */
export function readCertificateParams(params: Record<string, unknown>): CertificateParams {
	const common_name = optionalText(params, "common_name") ?? "";
	if (common_name.trim() === "") throw new EngineError("common_name is required");
	const fault = faultOfName(common_name);
	if (fault !== undefined) throw new ParamsError(`common_name ${fault}`);
	const role = findRole(optionalText(params, "role"));
	return { common_name, san: readSan(params), role, ...readTtl(params, role) };
}

function readSan(params: Record<string, unknown>): string[] {
	const san = optionalTexts(params, "san");
	if (san.length > MAX_SAN_ENTRIES) throw new ParamsError(`san must have at most ${MAX_SAN_ENTRIES} entries`);
	for (const [index, entry] of san.entries()) {
		if (isAddress(entry) || isHostName(entry)) continue;
		throw new ParamsError(
			`san entry ${index + 1} must be an IP address or a host name such as app.example.com or *.example.com; write an international name in its xn-- form`,
		);
	}
	return san;
}

/** Tells whether it is an address. A zone (`fe80::1%eth0`) means something on one machine only. */
function isAddress(entry: string): boolean {
	return isIP(entry) !== 0 && !entry.includes("%");
}

function readTtl(params: Record<string, unknown>, role: Role): { ttl: string; ttl_ms: number } {
	const ttl = optionalText(params, "ttl") ?? DEFAULT_TTL;
	const ttl_ms = parseTtl(ttl, { days: true });
	if (ttl_ms < 1000) throw new EngineError("invalid ttl: a certificate is valid for at least 1s");
	if (ttl_ms > parseTtl(role.max_ttl, { days: true })) {
		throw new EngineError(`ttl ${ttl} exceeds max ${role.max_ttl} for role ${role.name}`);
	}
	return { ttl, ttl_ms };
}
