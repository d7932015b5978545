import type { ExtendedKeyUsage } from "@svc/x509";
import descriptor from "./plugin.json" with { type: "json" };

/** What certificates of a role are for, and how long they may live. */
export interface Role {
	name: string;
	extended_key_usage: readonly ExtendedKeyUsage[];
	/** A duration, written as in plugin.json and in the refusal of a longer one. */
	max_ttl: string;
}

/** Spec: ENGINES › Certificate authority engine. */
const ROLES = descriptor.default_roles.map(({ name, config }) => ({ name, ...config }) as Role);

/** The role of that name; server, the first, for any other, and for none. Spec: ENGINES › Errors. */
export function findRole(name: string | undefined): Role {
	return ROLES.find((role) => role.name === name) ?? (ROLES[0] as Role);
}
