import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import net, { isIP } from "node:net";
import tls from "node:tls";
import { Failure } from "../failure.ts";

/** A certificate trusted at one address, in place of the authorities that the machine knows. */
export interface Trust {
	/** `pinned`: exactly this certificate. `authority`: any certificate that it signed for the address's name. */
	readonly kind: "pinned" | "authority";
	/** PEM. */
	readonly certificate: string;
}

/** A presented certificate. */
export interface Presented {
	/** PEM of its own certificate. */
	readonly certificate: string;
	/** SHA-256, upper-case hexadecimal with colons. */
	readonly fingerprint: string;
	/** Reason why the machine's authorities do not vouch for it; undefined when they do. */
	readonly doubt: string | undefined;
}

/** Error code of a pinned connection that ended because the certificate differs. */
export const CERTIFICATE_DIFFERS = "SVC_CERTIFICATE_DIFFERS";

/** Milliseconds for connecting and the handshake, when nothing else is sent. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** SHA-256 fingerprint of a PEM certificate: upper-case hexadecimal with colons. */
export function fingerprintOf(certificate: string): string {
	return new X509Certificate(certificate).fingerprint256;
}

/**
 * Normalizes a typed fingerprint to the form of `fingerprintOf`; colons, blanks, case and a leading `SHA256` do not matter.
 * @throws Failure usage when it is not 32 bytes of hexadecimal
 */
export function parseFingerprint(text: string): string {
	const digits = text
		.replace(/^\s*sha-?256[\s:=]+(fingerprint=)?/i, "")
		.replace(/[\s:]/g, "")
		.toUpperCase();
	if (!/^[0-9A-F]{64}$/.test(digits)) {
		throw new Failure(
			"usage",
			"a fingerprint is 32 bytes in hexadecimal, such as AB:CD:…, as the server prints it when it starts",
		);
	}
	return digits.replace(/..(?=.)/g, "$&:");
}

/** Options of a TLS connection that trusts `trust` or, without it, the authorities of Node and of the machine. */
export function tlsOptions(trust: Trust | undefined): tls.ConnectionOptions {
	if (trust === undefined) return { ca: knownAuthorities() };
	if (trust.kind === "authority") return { ca: trust.certificate };
	const pinned = fingerprintOf(trust.certificate);
	return {
		ca: trust.certificate,
		// A pinned certificate need not be self-signed.
		allowPartialTrustChain: true,
		// Runs before any of the request is written. The name does not matter: the certificate is known.
		checkServerIdentity: (_name, presented) =>
			presented.fingerprint256 === pinned
				? undefined
				: Object.assign(new Error("another certificate"), { code: CERTIFICATE_DIFFERS }),
	};
}

function knownAuthorities(): string[] {
	return [...tls.getCACertificates("default"), ...tls.getCACertificates("system")];
}

/**
 * Connects, reads the certificate and hangs up; sends nothing but the handshake.
 * @throws the system's error when it cannot connect, or ETIMEDOUT after 10 s
 */
export async function fetchCertificate(address: URL): Promise<Presented> {
	const socket = await connectTo(address, { ca: knownAuthorities(), rejectUnauthorized: false });
	const certificate = socket.getPeerX509Certificate();
	socket.destroy();
	if (certificate === undefined) throw new Failure("unreachable", "the server presents no certificate");
	return {
		certificate: certificate.toString(),
		fingerprint: certificate.fingerprint256,
		doubt: socket.authorized ? undefined : codeOf(socket.authorizationError),
	};
}

/**
 * Checks that a server answers and, over https, presents a trusted certificate; then hangs up. Sends nothing but the handshake.
 * @throws the system's error or OpenSSL's when the check fails, or ETIMEDOUT after 10 s
 */
export async function checkHandshake(address: URL, trust: Trust | undefined): Promise<void> {
	if (address.protocol === "https:") {
		(await connectTo(address, tlsOptions(trust))).destroy();
	} else {
		const socket = limited(net.connect({ host: hostOf(address), port: Number(address.port || 80) }));
		await once(socket, "connect");
		socket.destroy();
	}
}

const hostOf = (address: URL) => address.hostname.replace(/^\[|\]$/g, "");

/** Gives up a connection that is silent for 10 s, with ETIMEDOUT. */
function limited<Connection extends net.Socket>(socket: Connection): Connection {
	return socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () =>
		socket.destroy(Object.assign(new Error("timed out"), { code: "ETIMEDOUT" })),
	);
}

function connectTo(address: URL, options: tls.ConnectionOptions): Promise<tls.TLSSocket> {
	const { promise, resolve, reject } = Promise.withResolvers<tls.TLSSocket>();
	const host = hostOf(address);
	const name = isIP(host) ? {} : { servername: host };
	const socket = limited(tls.connect({ host, port: Number(address.port || 443), ...name, ...options }));
	socket.once("error", reject).once("secureConnect", () => resolve(socket));
	return promise;
}

// Typed as an Error, in fact only the code of OpenSSL's finding.
function codeOf(reason: unknown): string {
	return reason instanceof Error && "code" in reason ? String(reason.code) : String(reason);
}
