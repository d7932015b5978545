import type { ExtendedKeyUsage } from "@svc/x509";
import descriptor from "./plugin.json" with { type: "json" };

/** The use of a role's certificates, and their longest lifetime. */
export interface Role {
	name: string;
	extended_key_usage: readonly ExtendedKeyUsage[];
	/** A duration, as in plugin.json and in the refusal of a longer one. */
	max_ttl: string;
}

/** Spec: ENGINES › Certificate authority engine. */
const ROLES = descriptor.default_roles.map(({ name, config }) => ({ name, ...config }) as Role);

/** Finds a role by name; server, the first, for any other name and for none. Spec: ENGINES › Errors. */
export function findRole(name: string | undefined): Role {
	return ROLES.find((role) => role.name === name) ?? (ROLES[0] as Role);
}
