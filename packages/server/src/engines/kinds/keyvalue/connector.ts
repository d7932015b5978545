import type { Fields } from "@svc/protocol";
import * as v from "valibot";
import { AppError } from "../../../errors.ts";
import type { Connector, Draft, IssueRequest, Privilege, RevokeRequest, RevokeTarget, Subject } from "../connector.ts";
import type { ConnectNeeds } from "../kind.ts";
import {
	askForRevoke,
	askForUser,
	type CommandRole,
	ForbiddenCommand,
	isManagedName,
	ownField,
	readUser,
} from "../managed-user.ts";
import { isRefusal, type KeyValueConnection, KeyValueConnections, type KvSet, runIdOf } from "./connection.ts";
import { findPrivileges } from "./privileges.ts";

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
	throw new AppError("validation_failed", `${field} must be ${field === "address" ? "host:port" : "of another type"}`);
}

function hostAndPort(address: string): { host: string; port: number } {
	const [, bracketed, plain, port] = ADDRESS.exec(address) ?? [];
	return { host: bracketed ?? plain ?? "", port: Number(port) };
}

/** A key-value store, reached with an administrator's credential. */
export class KeyValueConnector implements Connector {
	readonly scopes = [""];
	readonly connections: KeyValueConnections;
	readonly #needs: ConnectNeeds;
	readonly #fields: KeyValueFields;

	constructor(needs: ConnectNeeds, fields: KeyValueFields) {
		this.#needs = needs;
		this.#fields = fields;
		this.connections = new KeyValueConnections({ ...fields, ...hostAndPort(fields.address) });
	}

	async prepare(request: IssueRequest): Promise<Draft | undefined> {
		const { command, data, expires_at } = await askForUser(this.#needs, request, "kv_command", readKvCreate);
		const { username: name } = command;
		if (await this.exists({ name })) return undefined;
		const channel = await this.connections.openChannel();
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
		await (await this.connections.admin()).ask(["PING"]);
	}

	async exists({ name }: Pick<Subject, "name">): Promise<boolean> {
		return (await (await this.connections.admin()).ask(["ACL", "GETUSER", name])) !== null;
	}

	async remove({ name }: Pick<Subject, "name">): Promise<void> {
		if (!isManagedName(name)) throw new ForbiddenCommand("the user to delete is not a managed user");
		const admin = await this.connections.admin();
		await admin.ask(["ACL", "DELUSER", name]);
		if (this.#fields.acl_save) await saveAcl(admin);
	}

	async list(): Promise<string[]> {
		const names = await (await this.connections.admin()).ask(["ACL", "USERS"]);
		return (names as string[]).filter(isManagedName);
	}

	async privileges(): Promise<Privilege[]> {
		return findPrivileges(await this.connections.admin(), this.#fields);
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

	async fence(fence: string): Promise<boolean> {
		const [, run_id, client_id = ""] = FENCE.exec(fence) ?? [];
		if (run_id === undefined) return false;
		const admin = await this.connections.admin();
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
		this.connections.close();
	}
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

/** A rule that gives or takes keys, channels or commands, but sets no password and does not reset the user. */
const ACL_RULE = /^(?:(?:[~&+-]|%(?:R|W|RW)~)[\x21-\x7e]+|all(?:keys|channels|commands)|resetchannels)$/;

/**
 * Reads what a key-value engine answered to `generate`: `kv_command` must be `ACL SETUSER <username> on ><password> <rules of the role>`.
 * @throws ForbiddenCommand
 * Spec: ENGINES › keyvalue operations. Design: §8
 */
export function readKvCreate(data: Fields, role: CommandRole): KvSet {
	const { username, password } = readUser(data);
	const args = ["ACL", "SETUSER", username, "on", `>${password}`, ...aclRules(role)];
	if (ownField(data, "kv_command") !== args.join(" ")) {
		throw new ForbiddenCommand("kv_command is not ACL SETUSER for the returned user with the role's rules");
	}
	return { username, password, arguments: args };
}

/**
 * Checks what a key-value engine answered to `validate`: `kv_command` must be `ACL DELUSER <username>`.
 * @param username the user to revoke
 * @throws ForbiddenCommand
 * Spec: ENGINES › keyvalue operations
 */
export function checkKvDelete(data: Fields, username: string): void {
	if (!isManagedName(username)) throw new ForbiddenCommand("the user to delete is not a managed user");
	if (ownField(data, "kv_command") !== `ACL DELUSER ${username}`) {
		throw new ForbiddenCommand("kv_command is not ACL DELUSER for the requested user");
	}
}

function aclRules(role: CommandRole): string[] {
	const rules = ownField(role.config, "acl_rules");
	const isUsable = Array.isArray(rules) && rules.length > 0 && rules.every(isAclRule);
	if (!isUsable)
		throw new ForbiddenCommand("the role's acl_rules are not a list of rules on keys, channels and commands");
	return rules;
}

function isAclRule(rule: unknown): rule is string {
	return typeof rule === "string" && ACL_RULE.test(rule);
}
