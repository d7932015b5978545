import { getCACertificates } from "node:tls";
import { createClient, ErrorReply } from "redis";
import { shownReply, TargetError, type TargetErrorKind } from "../connector.ts";

const CONNECT_TIMEOUT_MS = 2000;
/** Longest wait for the answer to one command. */
export const COMMAND_TIMEOUT_MS = 5000;

/** Where a key-value store is and who we are there. */
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

/** One authenticated connection. It is never mended: once it failed or fell silent, it is over. */
export class KeyValueConnection {
	readonly #client: ReturnType<typeof newClient>;
	readonly #password: string;
	readonly #onEnd: () => void;

	/** @param onEnd called when it is over, at least once */
	constructor(access: Access, onEnd: () => void) {
		this.#client = newClient(access);
		this.#password = access.password;
		this.#onEnd = onEnd;
		// Every failure also rejects the command that it struck; this one ends a connection with something that is no key-value store.
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

	/** Whether commands can be sent. */
	get isOpen(): boolean {
		return this.#client.isReady;
	}

	/**
	 * Sends a command as separate arguments.
	 * @param secrets in the command, to be masked in the store's answer
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

	/** Cuts the connection; whatever waits for an answer fails. */
	end(): void {
		this.#onEnd();
		if (this.#client.isOpen) this.#client.destroy();
	}

	#explain(error: unknown, secrets: string[]): TargetError {
		if (!(error instanceof ErrorReply)) {
			return new TargetError("unreachable", `the key-value store does not answer (${codeOf(error)})`);
		}
		// What follows are arguments, of which the store may have cut the last one, a secret, in two.
		const [text = ""] = error.message.split(", with args beginning with");
		const shown = shownReply(text, [this.#password, ...secrets]);
		return new TargetError(errorKindOf(text), `the key-value store answered: ${shown}`);
	}
}

let first: ReturnType<typeof createClient> | undefined;

/** What every client is a copy of: the driver makes a class for each set of options, which takes 5 MB and 100 ms. */
function original() {
	first ??= createClient({
		disableOfflineQueue: true,
		// Ours ends the connection; the driver's would leave it.
		commandOptions: { timeout: 0 },
		// What the driver would send on its own: an admin user with few rights may not be allowed to.
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

/** The driver cannot give up a command that was sent. */
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

/** The code alone: the driver's messages name addresses. */
function codeOf(error: unknown): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	return typeof code === "string" ? code : "connection lost";
}

/** An error reply begins with its code. */
function errorKindOf(text: string): TargetErrorKind {
	if (/^(?:NOPERM|WRONGPASS|NOAUTH)\b/.test(text)) return "denied";
	if (/^(?:LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|ERR max number of clients)\b/.test(text)) return "unreachable";
	return "rejected";
}
