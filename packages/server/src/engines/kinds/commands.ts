import { isDeepStrictEqual } from "node:util";
import type { Descriptor, Fields } from "@svc/protocol";

/*
 * The firewall between engines and the systems that the core drives. Nothing that an engine returned is ever sent: the only command that can
 * be right is built here, what the engine returned is compared with it, and the one built here is sent.
 */

/** Spec: ENGINES › Limits. */
const MANAGED_NAME = /^svc_[0-9a-f]{8}$/;
const PASSWORD = /^[0-9a-f]{24}$/;

/** A rule that gives or takes keys, channels or commands; one that sets passwords or resets the user is none. */
const ACL_RULE = /^(?:(?:[~&+-]|%(?:R|W|RW)~)[\x21-\x7e]+|all(?:keys|channels|commands)|resetchannels)$/;

/** What an engine asked for and must not have. The message says what was wrong, without what the engine sent. */
export class ForbiddenCommand extends Error {
	override readonly name = "ForbiddenCommand";
}

/** A role of the engine's descriptor, with what it means at the target: `acl_rules` or `mongodb_role`. */
export type CommandRole = Descriptor["default_roles"][number];

/** Creates a user of a key-value store. `arguments` are sent one by one, never as a line. */
export interface KvSet {
	system: "keyvalue";
	username: string;
	password: string;
	arguments: string[];
}

/** Creates a user of a document database. */
export interface DocCreate {
	system: "documentdb";
	username: string;
	password: string;
	document: { createUser: string; pwd: string; roles: { role: string; db: string }[]; mechanisms: string[] };
}

/** A create that passed. */
export type Command = KvSet | DocCreate;

/** Whether a name is one that an engine may give, and that may be deleted. Spec: ENGINES › Authentication */
export function isManagedName(name: string): boolean {
	return MANAGED_NAME.test(name);
}

/**
 * Reads what a key-value engine answered to `generate`: `kv_command` must be `ACL SETUSER <username> on ><password> <rules of the role>`.
 * @throws ForbiddenCommand
 * Spec: ENGINES › keyvalue operations. Design: §8
 */
export function readKvCreate(data: Fields, role: CommandRole): KvSet {
	const { username, password } = readCredential(data);
	const args = ["ACL", "SETUSER", username, "on", `>${password}`, ...aclRules(role)];
	if (own(data, "kv_command") !== args.join(" ")) {
		throw new ForbiddenCommand("kv_command is not ACL SETUSER of the answered user with the rules of the role");
	}
	return { system: "keyvalue", username, password, arguments: args };
}

/**
 * Reads what a key-value engine answered to `validate`: `kv_command` must be `ACL DELUSER <username>`.
 * @param username whose revocation was asked for
 * @throws ForbiddenCommand
 * Spec: ENGINES › keyvalue operations
 */
export function readKvDelete(data: Fields, username: string): void {
	if (!isManagedName(username)) throw new ForbiddenCommand("the user to delete is not a managed one");
	if (own(data, "kv_command") !== `ACL DELUSER ${username}`) {
		throw new ForbiddenCommand("kv_command is not ACL DELUSER of the user that was asked for");
	}
}

/**
 * Reads what a document database engine answered to `generate`: `doc_command` must create the answered user with the one role, on the one
 * database, for SCRAM-SHA-256 only.
 * @param database that was asked for, and is allowed
 * @throws ForbiddenCommand
 * Spec: ENGINES › documentdb operations. Design: §8
 */
export function readDocCreate(data: Fields, role: CommandRole, database: string): DocCreate {
	const { username, password } = readCredential(data);
	const document = {
		createUser: username,
		pwd: password,
		roles: [{ role: mongodbRole(role), db: database }],
		mechanisms: ["SCRAM-SHA-256"],
	};
	if (!isDeepStrictEqual(own(data, "doc_command"), document)) {
		throw new ForbiddenCommand("doc_command is not createUser of the answered user with the role on the database");
	}
	return { system: "documentdb", username, password, document };
}

/**
 * Reads what a document database engine answered to `validate`: `doc_command` must be `{dropUser: <username>}`.
 * @param username whose revocation was asked for
 * @throws ForbiddenCommand
 * Spec: ENGINES › documentdb operations
 */
export function readDocDrop(data: Fields, username: string): void {
	if (!isManagedName(username)) throw new ForbiddenCommand("the user to drop is not a managed one");
	if (!isDeepStrictEqual(own(data, "doc_command"), { dropUser: username })) {
		throw new ForbiddenCommand("doc_command is not dropUser of the user that was asked for");
	}
}

function readCredential(data: Fields): { username: string; password: string } {
	const username = own(data, "username");
	const password = own(data, "password");
	if (typeof username !== "string" || !isManagedName(username)) {
		throw new ForbiddenCommand("username is not svc_ and 8 lowercase hex characters");
	}
	if (typeof password !== "string" || !PASSWORD.test(password)) {
		throw new ForbiddenCommand("password is not 24 lowercase hex characters");
	}
	return { username, password };
}

function aclRules(role: CommandRole): string[] {
	const rules = own(role.config, "acl_rules");
	const isUsable = Array.isArray(rules) && rules.length > 0 && rules.every(isAclRule);
	if (!isUsable)
		throw new ForbiddenCommand("the role's acl_rules are not a list of rules on keys, channels and commands");
	return rules;
}

function isAclRule(rule: unknown): rule is string {
	return typeof rule === "string" && ACL_RULE.test(rule);
}

function mongodbRole(role: CommandRole): string {
	const name = own(role.config, "mongodb_role");
	if (typeof name !== "string" || name === "") throw new ForbiddenCommand("the role has no mongodb_role");
	return name;
}

function own(fields: Fields, name: string): unknown {
	return Object.hasOwn(fields, name) ? fields[name] : undefined;
}
