import {
	type Engine,
	EngineError,
	findRole,
	newManagedUser,
	optionalText,
	parseTtl,
	readManagedUsername,
} from "@svc/plugin-sdk";
import descriptor from "./plugin.json" with { type: "json" };

const DEFAULT_ROLE = "read";
const DEFAULT_TTL = "1h";
const DEFAULT_AUTH_DATABASE = "admin";

/** Spec: ENGINES › documentdb operations */
const MECHANISMS = ["SCRAM-SHA-256"];

/**
 * The document database engine. It contacts no database and knows no administrator: it answers with the command that the core runs, in the
 * authentication database of the params.
 * Spec: ENGINES › documentdb operations
 */
export const engine: Engine = {
	descriptor,
	invalidParams: "parsing params",
	generate(params) {
		const role = findRole(descriptor.default_roles, optionalText(params, "role") || DEFAULT_ROLE);
		const ttl_ms = parseTtl(optionalText(params, "ttl") ?? DEFAULT_TTL);
		const database = optionalText(params, "database") ?? "";
		if (database === "") throw new EngineError("database is required");
		const auth_database = readAuthDatabase(params);
		const user = newManagedUser(ttl_ms);
		return {
			...user,
			database,
			auth_database,
			doc_command: {
				createUser: user.username,
				pwd: user.password,
				roles: [{ role: role.config.mongodb_role, db: database }],
				mechanisms: MECHANISMS,
			},
		};
	},
	validate(params) {
		const username = readManagedUsername(params, "drop");
		// The core drops the user there; here it is only checked.
		readAuthDatabase(params);
		return {
			valid: true,
			message: `credentials revoked: user ${username} dropped`,
			doc_command: { dropUser: username },
		};
	},
};

function readAuthDatabase(params: Record<string, unknown>): string {
	return optionalText(params, "auth_database") || DEFAULT_AUTH_DATABASE;
}
