import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type ConnectionOptions, createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { ProviderUnavailable } from "../model.ts";

/** The latest context: reading the system's authorities takes longer than a login. */
let kept: { ca_cert: string | undefined; context: SecureContext } | undefined;

/**
 * Makes the options that check a directory's certificate: against the pinned authorities, and for the name in the address. (After StartTLS,
 * ldapjs would check it for "localhost".)
 * @throws ProviderUnavailable
 */
export function tlsOptionsFor({ url, ca_cert }: { url: string; ca_cert: string | undefined }): ConnectionOptions {
	const host = hostOf(url);
	if (kept === undefined || kept.ca_cert !== ca_cert) kept = { ca_cert, context: contextFor(ca_cert) };
	const name = isIP(host) === 0 ? { servername: host } : {};
	return { host, ...name, secureContext: kept.context, rejectUnauthorized: true };
}

function contextFor(ca_cert: string | undefined): SecureContext {
	try {
		// OpenSSL ignores what it cannot read.
		if (ca_cert !== undefined) new X509Certificate(ca_cert);
		return createSecureContext({ ca: ca_cert ?? getCACertificates("system"), minVersion: "TLSv1.2" });
	} catch {
		throw new ProviderUnavailable("ca_cert is not a readable certificate");
	}
}

/** The host in an address, without the brackets of IPv6. */
export function hostOf(url: string): string {
	return new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
}
