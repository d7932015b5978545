import { type Engine, findRole, newManagedUser, optionalText, parseTtl, readManagedUsername } from "@svc/plugin-sdk";
import descriptor from "./plugin.json" with { type: "json" };

const DEFAULT_ROLE = "readonly";
const DEFAULT_TTL = "1h";

/**
 * The key-value store engine. It contacts no store and knows no administrator: it answers with the ACL command that the core runs.
 * Spec: ENGINES › keyvalue operations
 */
export const engine: Engine = {
	descriptor,
	invalidParams: "parsing params",
	generate(params) {
		const role = findRole(descriptor.default_roles, optionalText(params, "role") || DEFAULT_ROLE);
		const user = newManagedUser(parseTtl(optionalText(params, "ttl") ?? DEFAULT_TTL));
		const rules = role.config.acl_rules.join(" ");
		return { ...user, kv_command: `ACL SETUSER ${user.username} on >${user.password} ${rules}` };
	},
	validate(params) {
		const username = readManagedUsername(params, "delete");
		return {
			valid: true,
			message: `credentials revoked: user ${username} deleted`,
			kv_command: `ACL DELUSER ${username}`,
		};
	},
};
