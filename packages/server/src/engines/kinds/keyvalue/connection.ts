import { getCACertificates } from "node:tls";
import { createClient, ErrorReply } from "redis";
import { createSemaphore } from "../../../semaphore.ts";
import { shownReply, TargetError, type TargetErrorKind } from "../connector.ts";

/*
 * The key-value store. One admin connection carries PING, ACL GETUSER, ACL DELUSER, ACL USERS and CLIENT KILL. Every ACL SETUSER has a
 * connection to itself while it lasts, known at the store by run_id (INFO) and CLIENT ID: once that connection is killed there, or the
 * process with that run_id is gone, the store can no longer run what was sent on it. Ids are not reused.
 */

const CONNECT_TIMEOUT_MS = 2000;
/** Longest wait for the answer to one command. */
const COMMAND_TIMEOUT_MS = 5000;

/** Concurrent creates, and connections kept for them. */
const MAX_CHANNELS = 16;

/** Address of a key-value store, and our login there. */
export interface Access {
	host: string;
	port: number;
	username: string;
	password: string;
	database: number;
	tls: boolean;
	/** PEM certificates of the authorities that may have signed the store's certificate; empty for the system's. */
	ca_cert: string;
}

/** One authenticated connection. It never reconnects: once it fails or falls silent, it is over. */
export class KeyValueConnection {
	readonly #client: ReturnType<typeof newClient>;
	readonly #password: string;
	readonly #onEnd: () => void;

	/** @param onEnd called when it is over, at least once */
	constructor(access: Access, onEnd: () => void) {
		this.#client = newClient(access);
		this.#password = access.password;
		this.#onEnd = onEnd;
		// Every failure also rejects the command that it hit; this handler ends a connection to anything but a key-value store.
		this.#client.on("error", () => this.end());
	}

	/** Connects and logs in. @throws TargetError */
	async open(): Promise<void> {
		try {
			await within(CONNECT_TIMEOUT_MS, this.#client.connect());
		} catch (error) {
			this.end();
			throw this.#explain(error, []);
		}
	}

	/** True if commands can be sent. */
	get isOpen(): boolean {
		return this.#client.isReady;
	}

	/**
	 * Sends a command as separate arguments.
	 * @param secrets in the command, to mask in the store's answer
	 * @throws TargetError
	 */
	async ask(command: string[], secrets: string[] = []): Promise<unknown> {
		try {
			return await within(COMMAND_TIMEOUT_MS, this.#client.sendCommand(command));
		} catch (error) {
			if (!(error instanceof ErrorReply)) this.end();
			throw this.#explain(error, secrets);
		}
	}

	/** Cuts the connection; commands that wait for an answer fail. */
	end(): void {
		this.#onEnd();
		if (this.#client.isOpen) this.#client.destroy();
	}

	#explain(error: unknown, secrets: string[]): TargetError {
		if (!(error instanceof ErrorReply)) {
			return new TargetError("unreachable", `the key-value store does not answer (${codeOf(error)})`);
		}
		// Arguments follow, the last of which, a secret, the store may have cut in two.
		const [text = ""] = error.message.split(", with args beginning with");
		const shown = shownReply(text, [this.#password, ...secrets]);
		return new TargetError(errorKindOf(text), `the key-value store answered: ${shown}`);
	}
}

/** Command that creates a user of a key-value store. `arguments` are sent one by one, never as a line. */
export interface KvSet {
	username: string;
	password: string;
	arguments: string[];
}

/** A connection that carries one create after the other. */
interface Carrier {
	connection: KeyValueConnection;
	fence: string;
}

/** Carries one create. */
interface Channel {
	/** Process and connection of the create; empty when unknown. */
	readonly fence: string;
	/** @throws TargetError */
	create(command: KvSet): Promise<void>;
	/** Frees the channel: call it once the create has ended, or is no longer wanted. */
	release(): void;
}

/** The connections to a store with one configuration: one for the administrator, and one for each create under way. */
export class KeyValueConnections {
	readonly #access: Access;
	readonly #channels = createSemaphore(MAX_CHANNELS, { busy: tooSlow });
	readonly #open = new Set<KeyValueConnection>();
	readonly #idle: Carrier[] = [];
	#admin: Promise<KeyValueConnection> | undefined;
	#isClosed: boolean = false;

	constructor(access: Access) {
		this.#access = access;
	}

	/** Returns the admin connection, a new one when the last one is over. */
	async admin(): Promise<KeyValueConnection> {
		const known = this.#admin;
		const connection = await known?.catch(() => undefined);
		if (connection?.isOpen) return connection;
		// Somebody else may have made it meanwhile.
		if (this.#admin === known) this.#admin = this.#connect();
		return this.#admin as Promise<KeyValueConnection>;
	}

	/** Opens a channel for one create. @throws TargetError */
	async openChannel(): Promise<Channel> {
		const leave = await this.#channels.acquire({ limit_ms: COMMAND_TIMEOUT_MS });
		try {
			return this.#channel(await this.#takeCarrier(), leave);
		} catch (error) {
			leave();
			throw error;
		}
	}

	/** Cuts them all. Later commands fail. */
	close(): void {
		this.#isClosed = true;
		for (const connection of this.#open) connection.end();
	}

	async #connect(): Promise<KeyValueConnection> {
		if (this.#isClosed) throw new TargetError("unreachable", "the connection to the key-value store was closed");
		const connection = new KeyValueConnection(this.#access, () => this.#open.delete(connection));
		this.#open.add(connection);
		await connection.open();
		return connection;
	}

	async #takeCarrier(): Promise<Carrier> {
		for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
			if (kept.connection.isOpen) return kept;
		}
		const connection = await this.#connect();
		return { connection, fence: await fenceOf(connection) };
	}

	#channel(carrier: Carrier, leave: () => void): Channel {
		let state: "usable" | "spent" | "released" = "usable";
		return {
			fence: carrier.fence,
			create: async (command) => {
				if (state !== "usable") throw new TypeError("the channel has carried its create");
				state = "spent";
				await carrier.connection.ask(command.arguments, [command.password]);
				state = "usable";
			},
			release: () => {
				if (state === "released") return;
				// A failed create will be fenced, which must not end another one on the same connection.
				if (state === "usable") this.#idle.push(carrier);
				else carrier.connection.end();
				state = "released";
				leave();
			},
		};
	}
}

/** Reads the fence of a connection; empty if the store denies or does not know the commands. */
async function fenceOf(connection: KeyValueConnection): Promise<string> {
	try {
		const client_id = await connection.ask(["CLIENT", "ID"]);
		const run_id = await runIdOf(connection);
		return run_id === undefined ? "" : `${run_id} ${client_id}`;
	} catch (error) {
		if (isRefusal(error)) return "";
		throw error;
	}
}

/** Reads the id of the store's process. */
export async function runIdOf(connection: KeyValueConnection): Promise<string | undefined> {
	return /^run_id:([0-9a-f]{40})\r?$/m.exec(String(await connection.ask(["INFO", "server"])))?.[1];
}

/** Tells whether the store itself answered with an error. */
export function isRefusal(error: unknown): boolean {
	return error instanceof TargetError && error.kind !== "unreachable";
}

function tooSlow(): TargetError {
	return new TargetError("unreachable", "the target is slow: too many credentials are being made there");
}

let first: ReturnType<typeof createClient> | undefined;

/** Makes the client that all others copy: the driver makes a class for each set of options, which takes 5 MB and 100 ms. */
function original() {
	first ??= createClient({
		disableOfflineQueue: true,
		// Our timeout ends the connection; the driver's would leave it.
		commandOptions: { timeout: 0 },
		// The driver would send these on its own, which an admin user with few rights may not do.
		disableClientInfo: true,
		maintNotifications: "disabled",
	});
	return first;
}

function newClient({ host, port, username, password, database, tls, ca_cert }: Access) {
	const common = { host, port, connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false as const };
	const secured = () => ({ ...common, tls, ca: ca_cert === "" ? getCACertificates("system") : ca_cert });
	return original().duplicate({ username, password, database, socket: tls ? secured() : common });
}

/** Limits the wait for an answer: the driver cannot abandon a command already sent. */
async function within<T>(limit_ms: number, answer: Promise<T>): Promise<T> {
	const silence = Promise.withResolvers<never>();
	const timer = setTimeout(() => {
		silence.reject(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" }));
	}, limit_ms);
	try {
		return await Promise.race([answer, silence.promise]);
	} finally {
		clearTimeout(timer);
	}
}

/** Reads the code alone, because the driver's messages name addresses. */
function codeOf(error: unknown): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	return typeof code === "string" ? code : "connection lost";
}

/** Classifies an error reply by the code at its beginning. */
function errorKindOf(text: string): TargetErrorKind {
	if (/^(?:NOPERM|WRONGPASS|NOAUTH)\b/.test(text)) return "denied";
	if (/^(?:LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|ERR max number of clients)\b/.test(text)) return "unreachable";
	return "rejected";
}
