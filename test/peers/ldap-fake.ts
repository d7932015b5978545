import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { createIdentity, type ServerIdentity } from "./identity.ts";

/*
 * A directory that can lie. A message is a sequence of its id and an operation with its own tag, all in BER.
 * https://www.rfc-editor.org/rfc/rfc4511#section-4
 */

const START_TLS = "1.3.6.1.4.1.1466.20037";
const WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3";
const OPERATIONS: Readonly<Record<number, Request["operation"]>> = { 96: "bind", 66: "unbind", 99: "search" };

/** A client's request. */
export interface Request {
	readonly id: number;
	readonly operation: "bind" | "unbind" | "search" | "start_tls" | "who_am_i" | "other";
	/** The operation's bytes, in which names and passwords appear as they are. */
	readonly body: Buffer;
	/** Tells whether it came over TLS. */
	readonly isEncrypted: boolean;
}

/** The reply to a request: bytes to send; the end of the connection; or TLS, after bytes in plain text. */
export type Reply = Buffer | "drop" | { readonly clear: Buffer; readonly next: "tls" } | ((socket: Socket) => void);

/** Options of a fake. */
export interface FakeLdapOptions {
	/** Tells whether it speaks TLS from the first byte. */
	readonly tls?: boolean;
	/** Names in its certificate. */
	readonly names?: readonly string[];
	/** The address to listen on; 127.0.0.1 by default. */
	readonly host?: string;
	/** Called with every new connection, before any read. */
	readonly greet?: (socket: Socket) => void;
}

/** A server on loopback that replies as the test wants. */
export interface FakeLdap {
	/** ldap://host:port, or ldaps. */
	readonly url: string;
	readonly ca: string;
	/** All requests, oldest first. */
	readonly requests: Request[];
	/** Returns everything received in plain text. */
	received(): Buffer;
	/** Returns the number of connections so far. */
	connections(): number;
	/** Returns the number of open connections. */
	open(): number;
	stop(): Promise<void>;
}

/** Starts a fake on a free port. */
export async function startFakeLdap(
	reply: (request: Request) => Reply,
	options: FakeLdapOptions = {},
): Promise<FakeLdap> {
	const { ca, ...identity } = await identityOf(...(options.names ?? ["127.0.0.1", "::1"]));
	const sockets = new Set<Socket>();
	const requests: Request[] = [];
	const received: Buffer[] = [];
	let connections = 0;

	function serve(socket: Socket, isEncrypted: boolean): void {
		let held: Buffer = Buffer.alloc(0);
		const read = (chunk: Buffer) => {
			if (!isEncrypted) received.push(chunk);
			held = Buffer.concat([held, chunk]);
			for (let end = endOf(held); end !== undefined; end = endOf(held)) {
				const request = requestOf(held.subarray(0, end), isEncrypted);
				held = held.subarray(end);
				requests.push(request);
				const answer = reply(request);
				if (answer === "drop") socket.destroy();
				else if (typeof answer === "function") answer(socket);
				else if (Buffer.isBuffer(answer)) socket.write(answer);
				else {
					socket.off("data", read);
					socket.write(answer.clear);
					encrypt(socket);
				}
			}
		};
		socket.on("data", read);
	}

	function encrypt(socket: Socket): void {
		const secure = new TLSSocket(socket, { isServer: true, ...identity });
		secure.on("error", () => undefined);
		serve(secure, true);
	}

	const server = createServer((socket) => {
		connections++;
		sockets.add(socket);
		// Clients break off when they detect a lie.
		socket.on("error", () => undefined);
		socket.once("close", () => sockets.delete(socket));
		options.greet?.(socket);
		if (options.tls === true) encrypt(socket);
		else serve(socket, false);
	});
	const { host = "127.0.0.1" } = options;
	await once(server.listen(0, host), "listening");
	const { port } = server.address() as AddressInfo;
	return {
		url: `ldap${options.tls === true ? "s" : ""}://${host.includes(":") ? `[${host}]` : host}:${port}`,
		ca,
		requests,
		received: () => Buffer.concat(received),
		connections: () => connections,
		open: () => sockets.size,
		stop: async () => {
			for (const socket of sockets) socket.destroy();
			await once(server.close(), "close");
		},
	};
}

const identities = new Map<string, Promise<ServerIdentity>>();

/** Makes an identity once per set of names: it takes longer than most lies. */
function identityOf(...names: string[]): Promise<ServerIdentity> {
	const key = names.join();
	const identity = identities.get(key) ?? createIdentity(names);
	identities.set(key, identity);
	return identity;
}

/** Returns the end of the first message; undefined when it is incomplete or invalid. */
function endOf(bytes: Buffer): number | undefined {
	const [, first] = bytes;
	if (first === undefined) return undefined;
	const more = first < 0x80 ? 0 : first - 0x80;
	if (more > 4 || bytes.length < 2 + more) return undefined;
	const end = 2 + more + (more === 0 ? first : bytes.readUIntBE(2, more));
	return bytes.length < end ? undefined : end;
}

/** Parses a request. Ids are small here: one byte. */
function requestOf(message: Buffer, isEncrypted: boolean): Request {
	const start = message.indexOf(0x02, 2);
	const id = message[start + 2] ?? 0;
	const body = message.subarray(start + 3);
	const extension = [START_TLS, WHO_AM_I].find((oid) => body.includes(oid));
	const named = extension === START_TLS ? "start_tls" : extension === WHO_AM_I ? "who_am_i" : "other";
	return { id, operation: OPERATIONS[body[0] ?? 0] ?? named, body, isEncrypted };
}

/** Encodes one value in BER: a tag, the length, and the content. */
export function ber(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
	const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
	const length = Buffer.alloc(4);
	length.writeUInt32BE(content.length);
	return Buffer.concat([Buffer.from([tag, 0x84]), length, content]);
}

/** Makes a message that answers a request. */
export function message(id: number, ...operation: readonly Buffer[]): Buffer {
	return ber(0x30, ber(0x02, Buffer.from([id])), ...operation);
}

/** Makes the result of an operation. @param code of RFC 4511 @param more fields after the common ones */
export function result({ id, operation }: Pick<Request, "id" | "operation">, code: number, ...more: Buffer[]): Buffer {
	const tag = operation === "bind" ? 0x61 : operation === "search" ? 0x65 : 0x78;
	return message(
		id,
		ber(tag, ber(0x0a, Buffer.from([code])), ber(0x04, ""), ber(0x04, "said by the directory"), ...more),
	);
}

/** Makes an entry that a search has found. */
export function entry(
	id: number,
	dn: string,
	attributes: Readonly<Record<string, readonly (string | Buffer)[]>>,
): Buffer {
	const lines = Object.entries(attributes).map(([name, values]) =>
		ber(0x30, ber(0x04, name), ber(0x31, ...values.map((value) => ber(0x04, value)))),
	);
	return message(id, ber(0x64, ber(0x04, dn), ber(0x30, ...lines)));
}

/** Alice, as an honest directory shows her. */
export const ALICE = "uid=alice,ou=people,dc=test";

/** Answers as an honest directory in which only Alice exists, whatever her password. */
export function honest(request: Request): Buffer {
	const { id, operation } = request;
	if (operation === "who_am_i") return result(request, 0, ber(0x8b, `dn:${ALICE}`));
	if (operation !== "search") return result(request, 0);
	const found = entry(id, ALICE, { entryUUID: ["0b8f"], mail: ["alice@example.com"], cn: ["Alice"] });
	return Buffer.concat([found, result(request, 0)]);
}

/** Answers honestly except at one step. */
export function honestBut(
	operation: Request["operation"],
	reply: (request: Request) => Reply,
): (request: Request) => Reply {
	return (request) => (request.operation === operation ? reply(request) : honest(request));
}

/** Sends these bytes again and again, as fast as possible, for as long as the client stays. */
export function flood(bytes: Buffer): Reply {
	return (socket) => {
		const more = () => {
			while (!socket.destroyed && socket.write(bytes));
		};
		socket.on("drain", more);
		more();
	};
}

/** The beginning of a message longer than any memory. */
export const ENDLESS = Buffer.concat([Buffer.from("30847fffffff", "hex"), Buffer.alloc(65_536)]);

/** Makes an entry with a value that claims to be longer than the message: a careless reader looks for its end forever. */
export function loop(id: number): Buffer {
	const value = Buffer.from([0x04, 0x84, 0x00, 0xff, 0xff, 0xff]);
	return message(id, ber(0x64, ber(0x04, ALICE), ber(0x30, ber(0x30, ber(0x04, "cn"), ber(0x31, value)))));
}

/** Says nothing, and stays. */
export const silence = (): Reply => () => undefined;
