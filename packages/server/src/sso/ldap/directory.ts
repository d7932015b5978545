import type { Socket } from "node:net";
import ldap from "ldapjs";
import { ProviderUnavailable } from "../model.ts";
import { explain, FLOOD, INJECTED, LOST, REFUSED_TLS } from "./errors.ts";
import type { Filter } from "./filter.ts";
import { hostOf, tlsOptionsFor } from "./tls.ts";

/** Bytes that a connection may receive: a thousand groups take a tenth of it. */
const MAX_RECEIVED_BYTES = 4 * 1024 * 1024;
const TIME_LIMIT_S = 5;
/** RFC 4532 */
const WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3";

/** Result codes of RFC 4511 that matter here. */
export const RESULT = {
	operations_error: 1,
	protocol_error: 2,
	size_limit: 4,
	referral: 10,
	constraint_violation: 19,
	no_such_object: 32,
	invalid_dn: 34,
	inappropriate_authentication: 48,
	invalid_credentials: 49,
	insufficient_access: 50,
	busy: 51,
	unavailable: 52,
	unwilling: 53,
} as const;

/** A directory refused a request with a result code of RFC 4511. */
export class ResultError extends Error {
	override readonly name = "ResultError";
	readonly code: number;

	constructor(code: number) {
		super(`result code ${code}`);
		this.code = code;
	}
}

/** The address of a directory, and how to protect the way there. */
export interface Endpoint {
	url: string;
	start_tls: boolean;
	/** PEM of the authorities that may have signed its certificate; the system's when it is undefined. */
	ca_cert: string | undefined;
}

/** A query to a directory. Referrals and aliases are not followed. */
interface Search {
	base: string;
	scope: "base" | "sub";
	filter: Filter;
	attributes: string[];
	/** ResultError size_limit when the directory finds more. */
	limit: number;
}

/** An entry of a directory. */
export interface Entry {
	/** Spelled as the directory sends it. */
	dn: string;
	/** Values by the attribute's name in lower case. */
	attributes: Map<string, Buffer[]>;
}

/** A connection that hides ldapjs. Every method but `unbind` throws ResultError and ProviderUnavailable. */
export interface Directory {
	/** Proves a password. Neither name nor password may be empty: that would prove nothing, and succeed. */
	bind(dn: string, password: string): Promise<void>;
	search(question: Search): Promise<Entry[]>;
	/** Ends the connection in any state. */
	unbind(): void;
}

/** The internals of ldapjs in use here. Its version is pinned, and it has no maintainer who would change them. */
interface Inside {
	urls: { hostname: string }[];
	_socket: Socket | null;
	_tracker: { parser: { buffer: Buffer | null } } | null;
	exop(name: string, done: (error: unknown, value: string, answer: Identified) => void): void;
}

/** The answer to `WHO_AM_I`: empty for an anonymous connection. */
interface Identified {
	responseValue: string | undefined;
}

type Done<T> = (error: unknown, result?: T) => void;

/**
 * Connects, with TLS if the address or `start_tls` says so: then nothing crosses the network in clear, and the certificate is checked.
 * @throws ProviderUnavailable
 */
export async function connect(endpoint: Endpoint): Promise<Directory> {
	const isTls = endpoint.url.startsWith("ldaps:");
	const tlsOptions = isTls || endpoint.start_tls ? tlsOptionsFor(endpoint) : {};
	const client = ldap.createClient({ url: endpoint.url, tlsOptions, reconnect: false });
	const inside = client as unknown as Inside;
	// ldapjs would look up the name `[::1]`. Its first attempt begins a millisecond from now.
	for (const url of inside.urls) url.hostname = hostOf(endpoint.url);
	const { ask, guard } = watch(client);
	const unbind = () => {
		client.unbind();
		client.destroy();
	};
	try {
		guard(await ask<Socket>((done) => client.once("connect", (socket: Socket) => done(null, socket))));
		if (endpoint.start_tls && !isTls) {
			await startTls(client, tlsOptions, ask);
			if (inside._socket !== null) guard(inside._socket);
		}
	} catch (error) {
		unbind();
		throw error instanceof ResultError ? new ProviderUnavailable(REFUSED_TLS) : error;
	}
	return {
		bind: (dn, password) => bind(client, dn, password, ask),
		search: (question) => search(client, question, ask),
		unbind,
	};
}

type Ask = <T>(begin: (done: Done<T>) => void) => Promise<T>;

/** Lets every step fail as soon as the connection does: ldapjs reports that in many events. */
function watch(client: ldap.Client): { ask: Ask; guard: (socket: Socket) => void } {
	const lost = Promise.withResolvers<never>();
	// No step may be waiting when it happens.
	lost.promise.catch(() => undefined);
	for (const event of ["error", "connectError", "connectRefused", "setupError"]) {
		client.on(event, (error: unknown) => lost.reject(explain(error)));
	}
	for (const event of ["close", "end", "socketTimeout"]) {
		client.on(event, () => lost.reject(new ProviderUnavailable(LOST)));
	}
	const ask = <T>(begin: (done: Done<T>) => void): Promise<T> => {
		const answer = Promise.withResolvers<T>();
		begin((error, result) => (error ? answer.reject(asOurs(error)) : answer.resolve(result as T)));
		return Promise.race([answer.promise, lost.promise]);
	};
	let received = 0;
	const guard = (socket: Socket) => {
		// Otherwise the first query waits 40 ms for the acknowledgement of the last handshake message.
		socket.setNoDelay(true);
		socket.on("data", (chunk: Buffer) => {
			received += chunk.length;
			if (received <= MAX_RECEIVED_BYTES) return;
			lost.reject(new ProviderUnavailable(FLOOD));
			socket.destroy();
		});
	};
	return { ask, guard };
}

/** Turns ldapjs's errors into ours: it has a class for each result code, and others for a failed connection. */
function asOurs(error: unknown): Error {
	if (error instanceof ResultError) return error;
	const isResult =
		error instanceof Error && "lde_message" in error && !/^(?:Connection|Timeout|Abandoned)Error$/.test(error.name);
	const code = isResult && "code" in error ? error.code : undefined;
	return typeof code === "number" ? new ResultError(code) : explain(error);
}

async function startTls(client: ldap.Client, options: object, ask: Ask): Promise<void> {
	const { _tracker: tracker } = client as unknown as Inside;
	await ask((done) => client.starttls(options, [], done));
	// Bytes that came in clear after the answer may begin a forged message, which the next encrypted bytes would complete.
	if (tracker?.parser.buffer !== null) throw new ProviderUnavailable(INJECTED);
}

async function bind(client: ldap.Client, dn: string, password: string, ask: Ask): Promise<void> {
	if (dn.trim() === "" || password === "") throw new ResultError(RESULT.invalid_credentials);
	await ask((done) => client.bind(dn, password, done));
	const who = await ask<Identified>((done) => {
		(client as unknown as Inside).exop(WHO_AM_I, (error, _value, answer) => done(error, answer));
	});
	// A directory that does not support the question returns no value: ldapjs drops its result code.
	if (who.responseValue === "") throw new ResultError(RESULT.invalid_credentials);
}

async function search(client: ldap.Client, question: Search, ask: Ask): Promise<Entry[]> {
	const { base, scope, filter, attributes, limit } = question;
	const options = { scope, filter, attributes, sizeLimit: limit, timeLimit: TIME_LIMIT_S };
	const entries: Entry[] = [];
	await ask<void>((done) => {
		client.search(verbatim(base), options, (error, answer) => {
			if (error) return done(error);
			answer.on("searchEntry", (entry) => {
				if (entries.length === limit) done(new ResultError(RESULT.size_limit));
				else entries.push(entryOf(entry));
			});
			answer.on("error", done);
			answer.on("end", () => done(null));
		});
	});
	return entries;
}

function entryOf({ objectName, attributes }: ldap.SearchEntry): Entry {
	const values = attributes.map(({ type, buffers }) => [type.toLowerCase(), buffers] as const);
	return { dn: String(objectName), attributes: new Map(values) };
}

/** Makes ldapjs send a name as it is. Its own writer does not escape backslashes, so that it may write another name than it read. */
function verbatim(text: string): string {
	return { [Symbol.toStringTag]: "LdapDn", toString: () => text } as unknown as string;
}

/** ldapjs's reader of entries. */
const reader = ldap.SearchEntry as unknown as { parseToPojo(ber: unknown): { objectName: string } };
const readEntry = reader.parseToPojo.bind(reader);

reader.parseToPojo = (ber) => {
	const entry = readEntry(ber);
	return { ...entry, objectName: verbatim(entry.objectName) };
};
