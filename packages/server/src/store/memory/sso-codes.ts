import { MAX_CODES, type WaitingCode } from "../../sso/model.ts";
import type { Briefs } from "../store.ts";

/** Remembers finished logins until they are fetched or end. */
export function codesInMemory(): Briefs["sso"] {
	// Oldest first.
	const codes = new Map<string, WaitingCode>();
	const nameOf = (digest: Buffer) => digest.toString("base64url");
	return {
		keepCode(code, now_ms) {
			for (const [name, { until_ms }] of codes) if (until_ms <= now_ms) codes.delete(name);
			const [oldest] = codes.keys();
			if (oldest !== undefined && codes.size >= MAX_CODES) codes.delete(oldest);
			codes.set(nameOf(code.digest), code);
		},
		takeCode(digest, now_ms) {
			const found = codes.get(nameOf(digest));
			codes.delete(nameOf(digest));
			return found !== undefined && found.until_ms > now_ms ? found.sealed : undefined;
		},
	};
}
