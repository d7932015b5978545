import { type Fields, isObject } from "@svc/protocol";
import type { Privilege } from "../connector.ts";

/** Actions of the core in the authentication database, and the loss without each. */
const ON_USERS = [
	["createUser", "no credential can be made"],
	["dropUser", "no credential can be revoked"],
	["viewUser", "the server cannot verify that a credential is gone"],
] as const;

/** Built-in roles that manage users: everywhere, or in the role's own database. Some compatible databases report roles but no privileges. */
const EVERYWHERE = new Set(["root", "userAdminAnyDatabase", "__system"]);
const IN_ITS_DATABASE = new Set(["userAdmin", "dbOwner"]);

/**
 * Compares the rights of a connection's user with those that the core needs.
 * @param authInfo from the answer to `connectionStatus` with `showPrivileges`
 * https://www.mongodb.com/docs/manual/reference/command/connectionStatus/
 */
export function findPrivileges(authInfo: unknown, auth_database: string, databases: readonly string[]): Privilege[] {
	const [users, roles, privileges] = listsOf(authInfo);
	if (users.length === 0) {
		const message = "authentication is off: anybody who can reach the database can do everything";
		return [{ name: "access control", status: "doubtful", message, hint: "enable authorization in the database" }];
	}
	const managing = roles.filter(({ role }) => EVERYWHERE.has(String(role)) || IN_ITS_DATABASE.has(String(role)));
	if (privileges.length === 0 && roles.length > 0 && managing.length === 0) {
		const message = "the database does not report its user's privileges";
		return [{ name: "privileges", status: "doubtful", message, hint: "" }];
	}
	const needed = [
		...ON_USERS.map(([action, without]) => ({ action, database: auth_database, without })),
		...databases.map((database) => ({ action: "grantRole", database, without: "no credential can be made for it" })),
	];
	return needed.map(({ action, database, without }): Privilege => {
		const name = `${action} on ${database}`;
		const isGranted =
			managing.some(({ role, db }) => EVERYWHERE.has(String(role)) || db === database) ||
			privileges.some((privilege) => allows(privilege, action, database));
		if (isGranted) return { name, status: "granted", message: "", hint: "" };
		const hint = `give the user in connection_uri the role userAdmin on ${database}, or userAdminAnyDatabase`;
		return { name, status: "missing", message: `the user lacks this privilege: ${without}`, hint };
	});
}

function listsOf(authInfo: unknown): [users: Fields[], roles: Fields[], privileges: Fields[]] {
	const info = isObject(authInfo) ? authInfo : {};
	const list = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
	return [list(info.authenticatedUsers), list(info.authenticatedUserRoles), list(info.authenticatedUserPrivileges)];
}

/** Tells whether a privilege allows an action: an empty db means every database; a named collection excludes users. */
function allows({ resource, actions }: Fields, action: string, database: string): boolean {
	if (!isObject(resource) || !Array.isArray(actions) || !(actions.includes(action) || actions.includes("anyAction")))
		return false;
	return resource.anyResource === true || (resource.collection === "" && [database, ""].includes(String(resource.db)));
}
