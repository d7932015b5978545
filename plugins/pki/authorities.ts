import { EngineError } from "@svc/plugin-sdk";
import { type Authority, loadAuthority } from "@svc/x509";
import type { Settings } from "./settings.ts";

/** Authorities kept in memory: reading one takes longer than signing. */
const MAX_READY = 64;

/** Finds the authority for a request. @throws EngineError when there is none */
export type FindAuthority = (params: Record<string, unknown>) => Authority;

/**
 * Makes the function that finds a request's authority: the process's own, or the one that the server sends as `_authority`, which
 * no caller can.
 */
export function createAuthorities({ authority }: Pick<Settings, "authority">): FindAuthority {
	const ready = new Map<string, Authority>();
	return ({ _authority: sent }) => {
		if (authority !== "per request" && authority !== undefined) return authority;
		if (authority === undefined || !isKept(sent)) throw new EngineError("CA not loaded");
		const { ca_certificate: certificate, ca_private_key: private_key } = sent;
		const key = certificate + private_key;
		const found = ready.get(key) ?? load({ certificate, private_key });
		ready.delete(key);
		ready.set(key, found);
		for (const oldest of ready.keys()) {
			if (ready.size <= MAX_READY) break;
			ready.delete(oldest);
		}
		return found;
	};
}

function load(kept: Parameters<typeof loadAuthority>[0]): Authority {
	try {
		return loadAuthority(kept);
	} catch (error) {
		throw new EngineError(error instanceof Error ? error.message : "CA not loaded", { cause: error });
	}
}

function isKept(sent: unknown): sent is { ca_certificate: string; ca_private_key: string } {
	return (
		typeof sent === "object" &&
		sent !== null &&
		"ca_certificate" in sent &&
		"ca_private_key" in sent &&
		typeof sent.ca_certificate === "string" &&
		typeof sent.ca_private_key === "string"
	);
}
