import type { ExtendedKeyUsage } from "@svc/x509";

/** What certificates of a role are for, and how long they may live. */
export interface Role {
	name: string;
	extended_key_usage: readonly ExtendedKeyUsage[];
	/** A duration, written as in plugin.json and in the refusal of a longer one. */
	max_ttl: string;
}

const SERVER: Role = { name: "server", extended_key_usage: ["server"], max_ttl: "90d" };

/** Spec: ENGINES › Certificate authority engine, role table. */
export const ROLES: readonly Role[] = [
	SERVER,
	{ name: "client", extended_key_usage: ["client"], max_ttl: "30d" },
	{ name: "both", extended_key_usage: ["server", "client"], max_ttl: "90d" },
];

/** The role of that name; server for any other, and for none. Spec: ENGINES › Errors. */
export function findRole(name: string | undefined): Role {
	return ROLES.find((role) => role.name === name) ?? SERVER;
}
