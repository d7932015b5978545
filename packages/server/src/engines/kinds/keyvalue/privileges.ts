import { type Privilege, TargetError } from "../connector.ts";
import type { KeyValueConnection } from "./connection.ts";

/** A user that does not exist: no managed name has a colon. */
const NOBODY = "svc:nobody";

/** Loss without a right that only fencing needs: the server waits out a quarantine after a create that got no answer. */
const FENCING = "the outcome of a create without an answer stays unknown for minutes";

/**
 * Commands of the core in a form that changes nothing: a store checks whether a user may run a command before it reads the arguments. The
 * rule of SETUSER is invalid, so no user results.
 */
const RIGHTS: readonly [name: string, command: string[], status: "missing" | "doubtful", without: string][] = [
	["ACL SETUSER", ["ACL", "SETUSER", NOBODY, "+no:command"], "missing", "no credential can be made"],
	["ACL GETUSER", ["ACL", "GETUSER", NOBODY], "missing", "the server cannot verify that a credential is gone"],
	["ACL DELUSER", ["ACL", "DELUSER", NOBODY], "missing", "no credential can be revoked"],
	["ACL USERS", ["ACL", "USERS"], "missing", "leftover users cannot be found"],
	["CLIENT ID", ["CLIENT", "ID"], "doubtful", FENCING],
	["CLIENT KILL", ["CLIENT", "KILL", "ID", "0"], "doubtful", FENCING],
	["INFO", ["INFO", "server"], "doubtful", FENCING],
];

/**
 * Finds which of the rights that the core needs its user has, and whether a restart of the store would bring deleted users back.
 * @throws TargetError unreachable
 */
export async function findPrivileges(
	admin: KeyValueConnection,
	{ username, acl_save }: { username: string; acl_save: boolean },
): Promise<Privilege[]> {
	const found: Privilege[] = [];
	for (const [name, command, status, without] of RIGHTS) {
		const refusal = await refusalOf(admin, command);
		if (refusal === undefined) found.push({ name, status: "granted", message: "", hint: "" });
		else found.push({ name, status, message: `${refusal}: ${without}`, hint: grant(username, name) });
	}
	const persistence = await (acl_save ? savePrivilege(admin, username) : filePrivilege(admin));
	return persistence === undefined ? found : [...found, persistence];
}

function grant(username: string, name: string): string {
	return `on the store: ACL SETUSER ${username} +${name.toLowerCase().replace(" ", "|")}`;
}

/** Explains why the store would not run a command for this user; undefined when it would. */
async function refusalOf(admin: KeyValueConnection, command: string[]): Promise<string | undefined> {
	try {
		await admin.ask(command);
		return undefined;
	} catch (error) {
		if (!(error instanceof TargetError) || error.kind === "unreachable") throw error;
		if (error.kind === "denied") return "the user lacks this privilege";
		return /: ERR unknown (sub)?command/i.test(error.message)
			? "the store does not support it (version 6 or newer is needed)"
			: undefined;
	}
}

/** Checks ACL SAVE by running it: with acl_save it follows every removal, so once more does no harm. */
async function savePrivilege(admin: KeyValueConnection, username: string): Promise<Privilege> {
	const name = "ACL SAVE";
	try {
		await admin.ask(["ACL", "SAVE"]);
		return { name, status: "granted", message: "", hint: "" };
	} catch (error) {
		if (!(error instanceof TargetError) || error.kind === "unreachable") throw error;
		if (error.kind === "denied")
			return {
				name,
				status: "missing",
				message: "the user lacks this privilege: no credential can be revoked",
				hint: grant(username, name),
			};
		const hint = "set aclfile in the store's configuration to a writable file, or set acl_save to false";
		return { name, status: "doubtful", message: error.message, hint };
	}
}

/** Warns of an aclfile; undefined also if the user may not read the store's configuration. */
async function filePrivilege(admin: KeyValueConnection): Promise<Privilege | undefined> {
	const answer = await admin.ask(["CONFIG", "GET", "aclfile"]).catch((error: unknown) => {
		if (!(error instanceof TargetError) || error.kind === "unreachable") throw error;
	});
	const [, file] = Array.isArray(answer) ? answer : Object.entries(answer ?? {}).flat();
	if (typeof file !== "string" || file === "") return undefined;
	return {
		name: "aclfile",
		status: "doubtful",
		message: "the store reads its users from a file when it starts: a restart may restore deleted users",
		hint: "`svc engine set keyvalue` with acl_save=true; the user then needs ACL SAVE",
	};
}
