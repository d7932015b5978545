import { getCACertificates } from "node:tls";
import { createClient, ErrorReply } from "redis";
import { shownReply, TargetError, type TargetErrorKind } from "../connector.ts";

const CONNECT_TIMEOUT_MS = 2000;
/** Longest wait for the answer to one command. */
export const COMMAND_TIMEOUT_MS = 5000;

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
