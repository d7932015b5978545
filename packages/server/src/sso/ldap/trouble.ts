import { ProviderUnavailable } from "../model.ts";

export const LOST = "the directory closed the connection in the middle: look at its log";
export const FLOOD = "the directory sends more than anybody asked for: is url really the address of a directory?";
export const INJECTED =
	"something was sent in clear after StartTLS was agreed on: somebody sits between here and the directory";
export const REFUSED_TLS =
	"the directory refuses StartTLS, and nothing was sent in clear: set up TLS there, or use ldaps";
const NO_LDAP = "what answers at url does not speak LDAP: look at host and port (389, or 636 for ldaps)";

/** Advice by the code of Node's or OpenSSL's error. */
const SENTENCES: Record<string, string> = {
	ECONNREFUSED: "nothing listens at url: does the directory run, and is the port right (389, or 636 for ldaps)?",
	ENOTFOUND: "the host in url has no address: look at its name",
	EAI_AGAIN: "the host in url could not be looked up: look at the name servers of this machine",
	EHOSTUNREACH: "there is no way to the host in url: look at the network and its firewalls",
	ENETUNREACH: "there is no way to the host in url: look at the network and its firewalls",
	ETIMEDOUT: "the host in url does not answer: look at the network and its firewalls",
	ERR_TLS_CERT_ALTNAME_INVALID: "the directory's certificate is for another name than the host in url",
	CERT_HAS_EXPIRED: "the directory's certificate has expired",
	CERT_NOT_YET_VALID: "the directory's certificate is not valid yet: look at the clocks",
};

const UNTRUSTED = "the directory's certificate is not signed by an authority that is trusted: set ca_cert";
const NO_TLS =
	"no TLS could be agreed on: does the directory speak it at this port (636 is ldaps, 389 needs start_tls)?";

/** Gives advice on a failed connection. It contains nothing of the error: libraries put addresses and data into theirs. */
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
