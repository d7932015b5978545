import type { Fields } from "@svc/protocol";
import { type Document, MongoClient, MongoServerError, MongoWriteConcernError } from "mongodb";
import * as v from "valibot";
import { AppError } from "../../../errors.ts";
import { secretsIn } from "../../config/fields.ts";
import { allowedNames } from "../allowed-names.ts";
import {
	type Connector,
	type Draft,
	type IssueRequest,
	type Privilege,
	type RevokeRequest,
	type RevokeTarget,
	type Subject,
	shownReply,
	TargetError,
	type TargetErrorKind,
} from "../connector.ts";
import type { ConnectNeeds } from "../kind.ts";
import { askForRevoke, askForUser, ForbiddenCommand, isManagedName } from "../managed-user.ts";
import { checkDocDrop, type DocCreate, readDocCreate } from "./command.ts";
import { findPrivileges } from "./privileges.ts";
import { connectionUri } from "./uri.ts";

/*
 * The document database: ping, createUser, dropUser and usersInfo over the driver's own small pool. A create without a timely answer may
 * still run: the driver drops its connection, but no command ends what waits at the server, so there is no fence.
 */

const SELECTION_TIMEOUT_MS = 2500;
const SOCKET_TIMEOUT_MS = 5000;

/** Options that override the connection string. */
const DRIVER_OPTIONS = {
	serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS,
	connectTimeoutMS: SELECTION_TIMEOUT_MS,
	socketTimeoutMS: SOCKET_TIMEOUT_MS,
	waitQueueTimeoutMS: SOCKET_TIMEOUT_MS,
	minPoolSize: 0,
	maxPoolSize: 4,
};

/** Requires a majority: the next election may lose or restore a user that only the primary knows. The wait ends before the socket's. */
const WRITE_CONCERN = { w: "majority", wtimeout: SOCKET_TIMEOUT_MS - 1000 };

/* Error codes: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
/** UserNotFound. */
const ABSENT = 11;
/** Unauthorized, AuthenticationFailed, and Atlas's code for both. */
const DENIED = new Set([13, 18, 8000]);
/** The server is shutting down, is no primary, or lost contact with another one. */
const TRANSIENT = new Set([
	6, 7, 50, 64, 89, 91, 100, 189, 202, 262, 9001, 10058, 10107, 11600, 11601, 11602, 13435, 13436,
]);
/**
 * Codes of a create refused before it did anything: for its form, its role, its name, or as an unsupported command. After any other error
 * the user may exist.
 */
const REFUSED = new Set([2, 9, 14, 20, 31, 59, 72, 73, 115, 40414, 40415, 51003]);

/** Spec: ENGINES › Document database engine configuration */
const DocumentDbFields = v.object({
	connection_uri: v.string(),
	database: v.string(),
	auth_database: v.optional(v.string(), "admin"),
});

type DocumentDbFields = v.InferOutput<typeof DocumentDbFields>;

/**
 * Makes the connector of a configuration; nothing is connected yet.
 * @throws AppError validation_failed naming the field
 */
export function createDocumentDbConnector(needs: ConnectNeeds): DocumentDbConnector {
	const result = v.safeParse(DocumentDbFields, needs.fields, { abortEarly: true });
	if (result.success) return new DocumentDbConnector(needs, result.output);
	throw new AppError("validation_failed", `${String(result.issues[0].path?.[0].key)} must be a string`);
}

/** A document database, reached with an administrator's connection string. */
export class DocumentDbConnector implements Connector {
	readonly scopes: readonly string[];
	readonly #needs: ConnectNeeds;
	readonly #fields: DocumentDbFields;
	readonly #client: MongoClient;
	#isClosed: boolean = false;

	constructor(needs: ConnectNeeds, fields: DocumentDbFields) {
		this.#needs = needs;
		this.#fields = fields;
		this.scopes = [fields.auth_database];
		this.#client = newClient(fields.connection_uri);
	}

	async prepare(request: IssueRequest): Promise<Draft | undefined> {
		const { database } = request.params;
		const { command, data, expires_at } = await askForUser(this.#needs, request, "doc_command", (answer, role) =>
			readDocCreate(answer, role, String(database)),
		);
		const { username: name, password } = command;
		if (await this.exists({ name, scope: request.scope })) return undefined;
		return {
			name,
			fence: "",
			create: async () => {
				await this.createUser(command);
				const credential = { username: name, password, ...(typeof database === "string" ? { database } : {}) };
				const made = { ...data, ...this.details(credential) };
				// The connection_uri contains everything.
				return { data: request.with_connection ? { ...made, connection: {} } : made, expires_at };
			},
		};
	}

	readRevoke(request: RevokeRequest): Promise<RevokeTarget> {
		return askForRevoke(this.#needs, request, "doc_command", checkDocDrop);
	}

	async ping(): Promise<void> {
		await this.#ask(this.#fields.auth_database, { ping: 1 });
	}

	async exists({ name, scope }: Subject): Promise<boolean> {
		const { users } = await this.#ask(scope, { usersInfo: { user: name, db: scope } });
		return users.length > 0;
	}

	async remove({ name, scope }: Subject): Promise<void> {
		if (!isManagedName(name)) throw new ForbiddenCommand("the user to drop is not a managed user");
		try {
			await this.#send(scope, { dropUser: name, writeConcern: WRITE_CONCERN });
		} catch (error) {
			if (!(error instanceof MongoServerError && error.code === ABSENT)) throw this.#explain(error, "rejected");
		}
	}

	async list(scope: string): Promise<string[]> {
		const { users } = await this.#ask(scope, { usersInfo: 1 });
		return users.map(({ user }: Document) => String(user)).filter(isManagedName);
	}

	async privileges(): Promise<Privilege[]> {
		const { auth_database, database } = this.#fields;
		const { authInfo } = await this.#ask(auth_database, { connectionStatus: 1, showPrivileges: true });
		const databases = new Set([database, ...allowedNames(this.#needs.fields, "allowed_databases")]);
		return findPrivileges(authInfo, auth_database, [...databases]);
	}

	/** Makes the further fields of the credential's answer. Spec: ENGINES › Resources and their fields */
	details(credential: { username: string; password: string; database?: string }): Fields {
		const { database = this.#fields.database } = credential;
		const { auth_database, connection_uri: admin_uri } = this.#fields;
		return {
			database,
			auth_database,
			connection_uri: connectionUri(admin_uri, { ...credential, database, auth_database }),
		};
	}

	/** Makes a user in the authentication database. @throws TargetError */
	async createUser({ document, password }: DocCreate): Promise<void> {
		try {
			await this.#send(this.#fields.auth_database, { ...document, writeConcern: WRITE_CONCERN });
		} catch (error) {
			const isRefused = error instanceof MongoServerError && REFUSED.has(Number(error.code));
			throw this.#explain(error, isRefused ? "rejected" : "unreachable", [password]);
		}
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await this.#client.close();
	}

	async #ask(database: string, command: Document): Promise<Document> {
		try {
			return await this.#send(database, command);
		} catch (error) {
			throw this.#explain(error, "rejected");
		}
	}

	/** Sends a command to the primary, the only one that knows for certain, whatever the connection string prefers. */
	async #send(database: string, command: Document): Promise<Document> {
		// After a failed first connect the driver does not retry by itself. Connecting a closed client would reopen it.
		if (!this.#isClosed) await this.#client.connect();
		return this.#client.db(database).command(command, { readPreference: "primary" });
	}

	/**
	 * @param otherwise kind of an error that is neither a missing right nor transient
	 * @param secrets of the command, to mask in the database's answer
	 */
	#explain(error: unknown, otherwise: TargetErrorKind, secrets: string[] = []): TargetError {
		if (!(error instanceof MongoServerError)) {
			return new TargetError("unreachable", `the document database does not answer (${codeOf(error)})`);
		}
		const text = shownReply(error.message, [...secretsIn(this.#fields.connection_uri), ...secrets]);
		return new TargetError(errorKindOf(error) ?? otherwise, `the document database answered: ${text}`);
	}
}

function newClient(connection_uri: string): MongoClient {
	try {
		return new MongoClient(connection_uri, DRIVER_OPTIONS);
	} catch {
		// The driver's message quotes parts of the string.
		throw new AppError("validation_failed", "connection_uri must be a valid MongoDB connection string");
	}
}

function errorKindOf(error: MongoServerError): TargetErrorKind | undefined {
	// The primary has done it, but it may not last.
	if (error instanceof MongoWriteConcernError) return "unreachable";
	const code = Number(error.code);
	if (DENIED.has(code)) return "denied";
	return TRANSIENT.has(code) ? "unreachable" : undefined;
}

/** Finds the innermost code, or the kind of error: the driver's messages name addresses. */
function codeOf(error: unknown): string {
	if (!(error instanceof Error)) return "unknown";
	const inner = error.cause instanceof Error ? codeOf(error.cause) : error.name;
	return "code" in error && typeof error.code === "string" ? error.code : inner;
}
