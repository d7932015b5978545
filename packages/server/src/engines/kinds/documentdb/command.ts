import { isDeepStrictEqual } from "node:util";
import type { Fields } from "@svc/protocol";
import { type CommandRole, ForbiddenCommand, isManagedName, ownField, readUser } from "../managed-user.ts";

/** Creates a user of a document database. */
export interface DocCreate {
	username: string;
	password: string;
	document: { createUser: string; pwd: string; roles: { role: string; db: string }[]; mechanisms: string[] };
}

/**
 * Reads what a document database engine answered to `generate`: `doc_command` must create the answered user with the one role, on the one
 * database, for SCRAM-SHA-256 only.
 * @param database the requested one, which is allowed
 * @throws ForbiddenCommand
 * Spec: ENGINES › documentdb operations. Design: §8
 */
export function readDocCreate(data: Fields, role: CommandRole, database: string): DocCreate {
	const { username, password } = readUser(data);
	const document = {
		createUser: username,
		pwd: password,
		roles: [{ role: mongodbRole(role), db: database }],
		mechanisms: ["SCRAM-SHA-256"],
	};
	if (!isDeepStrictEqual(ownField(data, "doc_command"), document)) {
		throw new ForbiddenCommand("doc_command is not createUser for the returned user with the role on the database");
	}
	return { username, password, document };
}

/**
 * Checks what a document database engine answered to `validate`: `doc_command` must be `{dropUser: <username>}`.
 * @param username the user to revoke
 * @throws ForbiddenCommand
 * Spec: ENGINES › documentdb operations
 */
export function checkDocDrop(data: Fields, username: string): void {
	if (!isManagedName(username)) throw new ForbiddenCommand("the user to drop is not a managed user");
	if (!isDeepStrictEqual(ownField(data, "doc_command"), { dropUser: username })) {
		throw new ForbiddenCommand("doc_command is not dropUser for the requested user");
	}
}

function mongodbRole(role: CommandRole): string {
	const name = ownField(role.config, "mongodb_role");
	if (typeof name !== "string" || name === "") throw new ForbiddenCommand("the role has no mongodb_role");
	return name;
}
