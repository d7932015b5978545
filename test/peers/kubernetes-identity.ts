import { randomBytes } from "node:crypto";
import { createAuthority, issueCertificate, loadAuthority } from "../../packages/x509/src/index.ts";

const DAY_MS = 24 * 60 * 60_000;

/** The certificate of a test's API server, its key, and the authority that vouches for it. All PEM. */
export interface ServerIdentity {
	readonly ca: string;
	readonly cert: string;
	readonly key: string;
}

/** Makes an authority and a server's certificate that is valid for a day. @param names host names and addresses */
export async function createIdentity(names: readonly string[]): Promise<ServerIdentity> {
	const now = new Date();
	const kept = await createAuthority({ common_name: "test orchestrator CA", organization: "", now, randomBytes });
	const issued = issueCertificate(loadAuthority(kept), {
		common_name: "test orchestrator",
		organization: "",
		san: names,
		extended_key_usage: ["server"],
		not_before: now,
		not_after: new Date(now.getTime() + DAY_MS),
		randomBytes,
	});
	return { ca: kept.certificate, cert: issued.certificate, key: issued.private_key };
}

/** A client configuration, in YAML, with one cluster and one user. @param ca PEM */
export function kubeconfigOf(url: string, ca: string, token: string): string {
	const data = Buffer.from(ca).toString("base64");
	return `apiVersion: v1
kind: Config
current-context: test
contexts: [{ name: test, context: { cluster: test, user: test } }]
clusters: [{ name: test, cluster: { server: "${url}", certificate-authority-data: ${data} } }]
users: [{ name: test, user: { token: "${token}" } }]
`;
}
