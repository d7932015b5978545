import { ProviderUnavailable } from "../model.ts";

export const LOST = "the directory closed the connection early: see its log";
export const FLOOD = "the directory sends more than was requested: check that url is the address of a directory";
export const INJECTED = "data arrived unencrypted after StartTLS: somebody may be between the server and the directory";
export const REFUSED_TLS =
	"the directory refuses StartTLS, and nothing was sent unencrypted: set up TLS there, or use ldaps";
const NO_LDAP = "the server at url does not speak LDAP: check host and port (389, or 636 for ldaps)";

/** Advice by the code of Node's or OpenSSL's error. */
const SENTENCES: Record<string, string> = {
	ECONNREFUSED: "nothing listens at url: check that the directory runs, and its port (389, or 636 for ldaps)",
	ENOTFOUND: "the host in url has no address: check its name",
	EAI_AGAIN: "the host in url could not be looked up: check this machine's name servers",
	EHOSTUNREACH: "there is no route to the host in url: check the network and its firewalls",
	ENETUNREACH: "there is no route to the host in url: check the network and its firewalls",
	ETIMEDOUT: "the host in url does not answer: check the network and its firewalls",
	ERR_TLS_CERT_ALTNAME_INVALID: "the directory's certificate is for another name than the host in url",
	CERT_HAS_EXPIRED: "the directory's certificate has expired",
	CERT_NOT_YET_VALID: "the directory's certificate is not valid yet: check the clocks",
};

const UNTRUSTED = "the directory's certificate is not signed by a trusted authority: set ca_cert";
const NO_TLS =
	"the TLS handshake failed: check that the directory uses TLS at this port (636 is ldaps, 389 needs start_tls)";

/** Returns advice on a failed connection. It contains nothing of the error: libraries put addresses and data into theirs. */
export function explain(error: unknown): ProviderUnavailable {
	if (error instanceof ProviderUnavailable) return error;
	return new ProviderUnavailable(sentence(error));
}

function sentence(error: unknown): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	if (typeof code !== "string") return error instanceof Error && error.name === "ConnectionError" ? LOST : NO_LDAP;
	if (/CERT|SIGNATURE|ISSUER/.test(code)) return SENTENCES[code] ?? UNTRUSTED;
	if (/^(?:ERR_SSL|EPROTO)/.test(code)) return NO_TLS;
	return SENTENCES[code] ?? LOST;
}
