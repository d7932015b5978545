import type { Fields } from "@svc/protocol";
import { type CommandRole, ForbiddenCommand, isManagedName, ownField, readUser } from "../managed-user.ts";

/** A rule that gives or takes keys, channels or commands, but sets no password and does not reset the user. */
const ACL_RULE = /^(?:(?:[~&+-]|%(?:R|W|RW)~)[\x21-\x7e]+|all(?:keys|channels|commands)|resetchannels)$/;

/** Command that creates a user of a key-value store. `arguments` are sent one by one, never as a line. */
export interface KvSet {
	username: string;
	password: string;
	arguments: string[];
}

/**
 * Reads what a key-value engine answered to `generate`: `kv_command` must be `ACL SETUSER <username> on ><password> <rules of the role>`.
 * @throws ForbiddenCommand
 * Spec: ENGINES › keyvalue operations. Design: §8
 */
export function readKvCreate(data: Fields, role: CommandRole): KvSet {
	const { username, password } = readUser(data);
	const args = ["ACL", "SETUSER", username, "on", `>${password}`, ...aclRules(role)];
	if (ownField(data, "kv_command") !== args.join(" ")) {
		throw new ForbiddenCommand("kv_command is not ACL SETUSER of the answered user with the rules of the role");
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
	if (!isManagedName(username)) throw new ForbiddenCommand("the user to delete is not a managed one");
	if (ownField(data, "kv_command") !== `ACL DELUSER ${username}`) {
		throw new ForbiddenCommand("kv_command is not ACL DELUSER of the user that was asked for");
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
