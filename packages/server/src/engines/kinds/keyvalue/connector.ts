import type { Fields } from "@svc/protocol";
import * as v from "valibot";
import { AppError } from "../../../errors.ts";
import {
	type Connector,
	type Draft,
	type IssueRequest,
	type Privilege,
	type RevokeRequest,
	type RevokeTarget,
	type Subject,
	TargetError,
} from "../connector.ts";
import type { ConnectNeeds } from "../kind.ts";
import { askForRevoke, askForUser, ForbiddenCommand, isManagedName } from "../managed-user.ts";
import { checkKvDelete, type KvSet, readKvCreate } from "./command.ts";
import { type Access, COMMAND_TIMEOUT_MS, KeyValueConnection } from "./connection.ts";
import { findPrivileges } from "./privileges.ts";
import { createSlots } from "./slots.ts";

/*
 * The key-value store. One admin connection carries PING, ACL GETUSER, ACL DELUSER, ACL USERS and CLIENT KILL. Every ACL SETUSER has a
 * connection to itself while it lasts, known at the store by run_id (INFO) and CLIENT ID: once that connection is killed there, or the
 * process with that run_id is gone, the store can no longer run what was sent on it. Ids are not reused.
 */

/** Concurrent creates, and connections kept for them. */
const MAX_CHANNELS = 16;

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/;
const FENCE = /^([0-9a-f]{40}) (\d+)$/;

/** Spec: ENGINES › Key-value store engine configuration. `ca_cert` and `acl_save` are ours. */
const KeyValueFields = v.object({
	address: v.pipe(
		v.string(),
		v.check((text) => hostAndPort(text).port > 0 && hostAndPort(text).port < 65536),
	),
	password: v.string(),
	username: v.optional(v.string(), "default"),
	tls: v.optional(v.boolean(), false),
	database: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 0),
	ca_cert: v.optional(v.string(), ""),
	/** True if the store must write its aclfile after each delete, so that its restart does not bring the user back. */
	acl_save: v.optional(v.boolean(), false),
});

type KeyValueFields = v.InferOutput<typeof KeyValueFields>;

/**
 * Makes the connector of a configuration, not connected yet.
 * @throws AppError validation_failed naming the field
 */
export function createKeyValueConnector(needs: ConnectNeeds): KeyValueConnector {
	const result = v.safeParse(KeyValueFields, needs.fields, { abortEarly: true });
	if (result.success) return new KeyValueConnector(needs, result.output);
	const field = String(result.issues[0].path?.[0].key);
	throw new AppError("validation_failed", `${field} must be ${field === "address" ? "host:port" : "of another kind"}`);
}

function hostAndPort(address: string): { host: string; port: number } {
	const [, bracketed, plain, port] = ADDRESS.exec(address) ?? [];
	return { host: bracketed ?? plain ?? "", port: Number(port) };
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

/** A key-value store, reached with an administrator's credential. */
export class KeyValueConnector implements Connector {
	readonly scopes = [""];
	readonly #needs: ConnectNeeds;
	readonly #fields: KeyValueFields;
	readonly #access: Access;
	readonly #enter = createSlots(MAX_CHANNELS, COMMAND_TIMEOUT_MS);
	readonly #open = new Set<KeyValueConnection>();
	readonly #idle: Carrier[] = [];
	#admin: Promise<KeyValueConnection> | undefined;
	#isClosed: boolean = false;

	constructor(needs: ConnectNeeds, fields: KeyValueFields) {
		this.#needs = needs;
		this.#fields = fields;
		this.#access = { ...fields, ...hostAndPort(fields.address) };
	}

	async prepare(request: IssueRequest): Promise<Draft | undefined> {
		const { command, data, expires_at } = await askForUser(this.#needs, request, "kv_command", readKvCreate);
		const { username: name } = command;
		if (await this.exists({ name })) return undefined;
		const channel = await this.openChannel();
		return {
			name,
			fence: channel.fence,
			release: channel.release,
			create: async () => {
				await channel.create(command);
				channel.release();
				const made = { ...data, ...this.details() };
				return { data: request.with_connection ? { ...made, connection: this.connection() } : made, expires_at };
			},
		};
	}

	readRevoke(request: RevokeRequest): Promise<RevokeTarget> {
		return askForRevoke(this.#needs, request, "kv_command", checkKvDelete);
	}

	async ping(): Promise<void> {
		await (await this.#connectAdmin()).ask(["PING"]);
	}

	async exists({ name }: Pick<Subject, "name">): Promise<boolean> {
		return (await (await this.#connectAdmin()).ask(["ACL", "GETUSER", name])) !== null;
	}

	async remove({ name }: Pick<Subject, "name">): Promise<void> {
		if (!isManagedName(name)) throw new ForbiddenCommand("the user to delete is not a managed one");
		const admin = await this.#connectAdmin();
		await admin.ask(["ACL", "DELUSER", name]);
		if (this.#fields.acl_save) await saveAcl(admin);
	}

	async list(): Promise<string[]> {
		const names = await (await this.#connectAdmin()).ask(["ACL", "USERS"]);
		return (names as string[]).filter(isManagedName);
	}

	async privileges(): Promise<Privilege[]> {
		return findPrivileges(await this.#connectAdmin(), this.#fields);
	}

	/** Makes the further fields of the credential's answer. Spec: ENGINES › Resources and their fields */
	details(): Fields {
		return { address: this.#fields.address, database: this.#fields.database };
	}

	/** Makes the further data needed to connect. */
	connection(): Fields {
		const { tls, ca_cert } = this.#fields;
		return { tls, ...(ca_cert === "" ? {} : { ca_cert }) };
	}

	/** Opens a channel for one create. @throws TargetError */
	async openChannel(): Promise<Channel> {
		const leave = await this.#enter();
		try {
			return this.#channel(await this.#takeCarrier(), leave);
		} catch (error) {
			leave();
			throw error;
		}
	}

	async fence(fence: string): Promise<boolean> {
		const [, run_id, client_id = ""] = FENCE.exec(fence) ?? [];
		if (run_id === undefined) return false;
		const admin = await this.#connectAdmin();
		try {
			const current = await runIdOf(admin);
			// An answer of 0 is proof, too: the connection was gone already.
			if (current === run_id) await admin.ask(["CLIENT", "KILL", "ID", client_id]);
			return current !== undefined;
		} catch (error) {
			if (isRefusal(error)) return false;
			throw error;
		}
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		for (const connection of this.#open) connection.end();
	}

	/** Returns the admin connection, a new one when the last one is over. */
	async #connectAdmin(): Promise<KeyValueConnection> {
		const known = this.#admin;
		const connection = await known?.catch(() => undefined);
		if (connection?.isOpen) return connection;
		// Somebody else may have made it meanwhile.
		if (this.#admin === known) this.#admin = this.#connect();
		return this.#admin as Promise<KeyValueConnection>;
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
async function runIdOf(connection: KeyValueConnection): Promise<string | undefined> {
	return /^run_id:([0-9a-f]{40})\r?$/m.exec(String(await connection.ask(["INFO", "server"])))?.[1];
}

function isRefusal(error: unknown): boolean {
	return error instanceof TargetError && error.kind !== "unreachable";
}

/** Has the store write its aclfile, if it has one. */
async function saveAcl(admin: KeyValueConnection): Promise<void> {
	try {
		await admin.ask(["ACL", "SAVE"]);
	} catch (error) {
		if (isRefusal(error) && String(error).includes("not configured to use an ACL file")) return;
		throw error;
	}
}
