import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { JsonError, parseJson } from "@svc/protocol";
import type { DnsLookup, DnsLookups } from "./dns-lookup.ts";
import { isPrivateAddress } from "./private-addresses.ts";
import type { JwtReason } from "./refusal.ts";

/** Seconds for one fetch of an issuer's keys, both documents together. Design: §15 */
export const TIMEOUT_S = 5;

/** Bytes of one document. Design: §15 */
const MAX_BYTES = 65_536;

/** An issuer's document that could not be fetched. The message is for the trust's owner, and contains nothing that was received. */
export class IssuerUnavailable extends Error {
	override readonly name = "IssuerUnavailable";
	/** Reason of the JWTs that are refused meanwhile. */
	readonly reason: JwtReason = "keys_unavailable";
}

/** How documents are fetched. */
export interface FetchNeeds {
	/** Hosts of issuers, with or without a port, that may have private addresses. */
	private_issuers: readonly string[];
	dns_lookups: DnsLookups;
}

/** Makes the function that fetches from one issuer. @param ca_cert PEM of the authorities that may have signed its certificate, in place of Node's */
export function createFetch(needs: FetchNeeds, ca_cert: string | undefined, signal: AbortSignal) {
	const secureContext = createSecureContext({ ca: ca_cert });
	/** Fetches a JSON document. @param what name of the document @throws IssuerUnavailable */
	return async (what: string, address: string): Promise<unknown> => {
		const url = readAddress(what, address);
		const is_allowed = isNamed(needs.private_issuers, url);
		const literal = url.hostname.replace(/^\[|\]$/g, "");
		if (isIP(literal) !== 0 && !is_allowed && isPrivateAddress(literal)) throw isPrivate(what);
		const { named, other } = needs.dns_lookups;
		const lookup = checkedLookup(is_allowed ? named : other, is_allowed, signal);
		// Every request has its own connection, so that the address that was checked is the one that is asked.
		const agent = new Agent({ keepAlive: false, maxCachedSessions: 0, secureContext });
		try {
			const outgoing = request(url, { agent, lookup, signal, headers: HEADERS });
			outgoing.on("error", () => undefined);
			outgoing.on("socket", (socket) => {
				socket.once("connect", () => refusePrivate(socket, is_allowed));
			});
			outgoing.end();
			const [incoming]: IncomingMessage[] = await once(outgoing, "response");
			return await readDocument(what, incoming as IncomingMessage);
		} catch (error) {
			throw explain(what, error, signal.aborted);
		} finally {
			agent.destroy();
		}
	};
}

/** Kubernetes answers 406 for its keys to who accepts only application/json. */
const HEADERS = { accept: "application/json, application/jwk-set+json", "accept-encoding": "identity" };

/** Error of a connection to an address that may not be asked. */
const PRIVATE = "ERR_SVC_PRIVATE_ADDRESS";

const privateError = () => Object.assign(new Error("private address"), { code: PRIVATE });

function isPrivate(what: string): IssuerUnavailable {
	return new IssuerUnavailable(
		`${what} is at a private address: the server's operator can allow its host in trusts.private_issuers`,
	);
}

function readAddress(what: string, address: string): URL {
	const url = URL.parse(address);
	if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
		throw new IssuerUnavailable(`${what} has no https address`);
	}
	return url;
}

/** Tells whether a list names a URL's host, or its host and port. */
function isNamed(hosts: readonly string[], { hostname, port }: URL): boolean {
	return hosts.includes(hostname) || hosts.includes(`${hostname}:${port === "" ? 443 : port}`);
}

/** Leaves out private addresses: what was checked is what is connected to, whatever the name resolves to next. */
function checkedLookup(dnsLookup: DnsLookup, is_allowed: boolean, signal: AbortSignal): LookupFunction {
	return (hostname, { all }, callback) => {
		dnsLookup(hostname, signal).then(
			(found) => {
				const usable = is_allowed ? found : found.filter(({ address }) => !isPrivateAddress(address));
				const [first] = usable;
				if (first === undefined) callback(privateError(), []);
				else if (all) callback(null, usable);
				else callback(null, first.address, first.family);
			},
			(error) => callback(error, []),
		);
	};
}

/** Has the last word: the hook for names is not called for every address. */
function refusePrivate(socket: Socket, is_allowed: boolean): void {
	if (!is_allowed && isPrivateAddress(socket.remoteAddress ?? "")) socket.destroy(privateError());
}

async function readDocument(what: string, incoming: IncomingMessage): Promise<unknown> {
	const { statusCode: status = 0, headers } = incoming;
	if (status !== 200 || (headers["content-encoding"] ?? "identity") !== "identity") {
		incoming.destroy();
		if (status !== 200) throw new IssuerUnavailable(`${what} could not be fetched (status ${status})`);
		throw new IssuerUnavailable(`${what} arrived compressed, which nobody asked for`);
	}
	const chunks: Buffer[] = [];
	let size = 0;
	for await (const chunk of incoming) {
		size += chunk.length;
		if (size > MAX_BYTES) throw new IssuerUnavailable(`${what} is larger than 64 KiB`);
		chunks.push(chunk);
	}
	try {
		return parseJson(Buffer.concat(chunks));
	} catch (error) {
		if (error instanceof JsonError) throw new IssuerUnavailable(`${what} is not valid JSON`);
		throw error;
	}
}

/** Names only the error's code: messages of the system contain addresses. */
function explain(what: string, error: unknown, is_late: boolean): IssuerUnavailable {
	if (error instanceof IssuerUnavailable) return error;
	if (is_late) return new IssuerUnavailable(`${what} did not arrive within ${TIMEOUT_S} s`);
	const code = error instanceof Error && "code" in error ? String(error.code) : "connection lost";
	return code === PRIVATE ? isPrivate(what) : new IssuerUnavailable(`${what} could not be fetched (${code})`);
}
