import { randomBytes } from "node:crypto";
import { createAuthority, issueCertificate, loadAuthority } from "../../packages/x509/src/index.ts";

const HOUR_MS = 60 * 60_000;

/** A test server's certificate, its key, and the authority that vouches for it. All PEM. */
export interface ServerIdentity {
	readonly ca: string;
	readonly cert: string;
	readonly key: string;
}

/** Makes an authority and a server's certificate, valid from an hour ago, in case the clock steps back, and for a day. @param names host names and addresses */
export async function createIdentity(names: readonly string[]): Promise<ServerIdentity> {
	const now = new Date(Date.now() - HOUR_MS);
	const kept = await createAuthority({ common_name: "test CA", organization: "", now, randomBytes });
	const issued = issueCertificate(loadAuthority(kept), {
		common_name: "test server",
		organization: "",
		san: names,
		extended_key_usage: ["server"],
		not_before: now,
		not_after: new Date(now.getTime() + 25 * HOUR_MS),
		randomBytes,
	});
	return { ca: kept.certificate, cert: issued.certificate, key: issued.private_key };
}
