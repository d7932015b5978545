import type { Fields } from "@svc/protocol";
import { AppError } from "../../../errors.ts";
import { allowedNames, refuseOtherNames, requestedName } from "../allowed-names.ts";
import type { Kind } from "../kind.ts";

const HOSTS = /^[a-z+]+:\/\/(?:[^/]*@)?([^/?]*)/;

/** The document database. The engine names the user it wants; the core checks and makes it. Spec: ENGINES › documentdb operations */
export const documentdb: Kind = {
	connect: async (needs) => (await import("./connector.ts")).createDocumentDbConnector(needs),
	confine: confineToDatabases,
	address: ({ connection_uri }) => HOSTS.exec(String(connection_uri))?.[1]?.toLowerCase() ?? "",
	// The address itself is the secret.
	destination: [],
	command: "doc_command",
};

function confineToDatabases(fields: Fields, params: Fields): { params: Fields; scope: string } {
	const own = String(fields.auth_database);
	const auth_database = requestedName(params, "auth_database", "parsing params") ?? own;
	if (auth_database !== own) throw new AppError("validation_failed", "auth_database must be the configured one");
	const database = requestedName(params, "database", "parsing params");
	if (database !== undefined)
		refuseOtherNames("database", database, String(fields.database), allowedNames(fields, "allowed_databases"));
	return { params: { ...params, auth_database }, scope: auth_database };
}
