import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { BSON, type Document } from "mongodb";

/*
 * A document database that can lie. Each message: length, id, id of the request answered, operation (four int32, little-endian), then for OP_MSG
 * flags and a section of kind 0 with one document. The first hello comes as OP_QUERY and gets an OP_REPLY. Nobody logs in.
 * https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
 */

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;

const HELLO = {
	ok: 1,
	isWritablePrimary: true,
	ismaster: true,
	helloOk: true,
	minWireVersion: 0,
	maxWireVersion: 21,
	maxBsonObjectSize: 16_777_216,
	maxMessageSizeBytes: 48_000_000,
	maxWriteBatchSize: 100_000,
};

/** The fate of a command: whether it takes effect, and its answer; or no answer, or the end of the connection. */
export interface Fault {
	readonly applies: boolean;
	readonly answer: Document | "nothing" | "reset";
}

/** A MongoDB-wire server on loopback that only knows users. */
export interface FakeMongo {
	/** A connection string without a user. */
	readonly uri: string;
	readonly port: number;
	/** Every command received, except the driver's own, oldest first. */
	readonly commands: Document[];
	/** Returns the names of its users. */
	users(): string[];
	/** Makes every command of this name fail from now on; `undefined` ends that. */
	fault(command: string, fault: Fault | undefined): void;
	stop(): Promise<void>;
}

/** Starts a fake. */
export async function startFakeMongo(): Promise<FakeMongo> {
	const users = new Map<string, Document>();
	const faults = new Map<string, Fault>();
	const commands: Document[] = [];
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket.on("error", () => undefined));
		socket.once("close", () => sockets.delete(socket));
		readMessages(socket, (document) => {
			const name = Object.keys(document)[0] ?? "";
			if (isOfDriver(name)) return name === "endSessions" ? { ok: 1 } : HELLO;
			commands.push(document);
			const fault = faults.get(name);
			const answer = fault === undefined || fault.applies ? apply(users, name, document) : undefined;
			return fault?.answer ?? answer ?? { ok: 1 };
		});
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	return {
		uri: `mongodb://127.0.0.1:${port}/`,
		port,
		commands,
		users: () => [...users.values()].map(({ user }) => String(user)),
		fault: (command, fault) => void (fault === undefined ? faults.delete(command) : faults.set(command, fault)),
		stop: async () => {
			for (const socket of sockets) socket.destroy();
			await once(server.close(), "close");
		},
	};
}

function isOfDriver(name: string): boolean {
	return ["hello", "ismaster", "isMaster", "endSessions"].includes(name);
}

function apply(users: Map<string, Document>, name: string, command: Document): Document {
	const db = String(command.$db);
	const key = (user: unknown) => `${db}.${String(user)}`;
	switch (name) {
		case "ping":
			return { ok: 1 };
		case "createUser":
			if (users.has(key(command.createUser))) return { ok: 0, code: 51003, errmsg: "user already exists" };
			users.set(key(command.createUser), { user: command.createUser, db, roles: command.roles });
			return { ok: 1 };
		case "dropUser":
			return users.delete(key(command.dropUser)) ? { ok: 1 } : { ok: 0, code: 11, errmsg: "user not found" };
		case "usersInfo": {
			const wanted = command.usersInfo === 1 ? undefined : command.usersInfo.user;
			const found = [...users.values()].filter((user) => user.db === db && (wanted ?? user.user) === user.user);
			return { ok: 1, users: found };
		}
		default:
			return { ok: 0, code: 59, errmsg: "no such command" };
	}
}

function readMessages(socket: Socket, answerTo: (document: Document) => Fault["answer"]): void {
	let held = Buffer.alloc(0);
	socket.on("data", (chunk: Buffer) => {
		held = Buffer.concat([held, chunk]);
		while (held.length >= HEADER_BYTES && held.length >= held.readInt32LE(0)) {
			const message = held.subarray(0, held.readInt32LE(0));
			held = held.subarray(message.length);
			const answer = answerTo(documentOf(message));
			if (answer === "reset") socket.resetAndDestroy();
			else if (answer !== "nothing") socket.write(reply(message, answer));
		}
	});
}

function documentOf(message: Buffer): Document {
	const isQuery = message.readInt32LE(12) === OP_QUERY;
	// OP_QUERY: flags, name of a collection that ends in 0, two counts. OP_MSG: flags, kind of the section.
	const start = isQuery ? message.indexOf(0, HEADER_BYTES + 4) + 1 + 8 : HEADER_BYTES + 4 + 1;
	return BSON.deserialize(message.subarray(start, start + message.readInt32LE(start)));
}

function reply(message: Buffer, answer: Document): Buffer {
	const isQuery = message.readInt32LE(12) === OP_QUERY;
	// OP_REPLY: flags, cursor (int64), start, number of documents. OP_MSG: flags, kind of the section.
	const front = Buffer.alloc(isQuery ? 20 : 5);
	if (isQuery) front.writeInt32LE(1, 16);
	const body = Buffer.concat([front, BSON.serialize(answer)]);
	const header = Buffer.alloc(HEADER_BYTES);
	header.writeInt32LE(HEADER_BYTES + body.length, 0);
	header.writeInt32LE(message.readInt32LE(4), 8);
	header.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
	return Buffer.concat([header, body]);
}
