import { isObject } from "@svc/protocol";
import type { Privilege } from "./connector.ts";

/** What the core does in the authentication database, and what does not work without it. */
const ON_USERS = [
	["createUser", "no credential can be made"],
	["dropUser", "no credential can be revoked"],
	["viewUser", "nobody can see whether a credential is gone"],
] as const;

/**
 * The rights of the user that a connection is signed in as, compared with what the core needs.
 * @param authInfo of the answer to `connectionStatus` with `showPrivileges`
 * https://www.mongodb.com/docs/manual/reference/command/connectionStatus/
 */
export function rightsOf(authInfo: unknown, auth_database: string, databases: readonly string[]): Privilege[] {
	const { authenticatedUsers: users, authenticatedUserPrivileges: privileges } = isObject(authInfo) ? authInfo : {};
	if (!Array.isArray(users) || users.length === 0) {
		const message = "nobody is signed in: whoever reaches the database may do everything";
		return [{ name: "access control", status: "doubtful", message, hint: "switch authorization on in the database" }];
	}
	if (!Array.isArray(privileges)) {
		const message = "the database does not say what its user may do";
		return [{ name: "privileges", status: "doubtful", message, hint: "" }];
	}
	const needed = [
		...ON_USERS.map(([action, without]) => ({ action, database: auth_database, without })),
		...databases.map((database) => ({ action: "grantRole", database, without: "no credential can be made for it" })),
	];
	return needed.map(({ action, database, without }): Privilege => {
		const name = `${action} on ${database}`;
		if (privileges.some((privilege) => allows(privilege, action, database)))
			return { name, status: "granted", message: "", hint: "" };
		const hint = `give the user in connection_uri the role userAdmin on ${database}, or userAdminAnyDatabase`;
		return { name, status: "missing", message: `the user may not: ${without}`, hint };
	});
}

/** Both empty is every database; a collection narrows a privilege to less than what users belong to. */
function allows(privilege: unknown, action: string, database: string): boolean {
	const { resource, actions } = isObject(privilege) ? privilege : {};
	if (!isObject(resource) || !Array.isArray(actions) || !(actions.includes(action) || actions.includes("anyAction")))
		return false;
	return resource.anyResource === true || (resource.collection === "" && [database, ""].includes(String(resource.db)));
}
