import type { Kind } from "../kind.ts";

/** The key-value store. The engine names the ACL command it wants; the core checks and runs it. Spec: ENGINES › keyvalue operations */
export const keyvalue: Kind = {
	connect: async (needs) => (await import("./connector.ts")).createKeyValueConnector(needs),
	address: ({ address }) => String(address).toLowerCase(),
	// The authority of a private network, and whether ACL SAVE follows each removal.
	fields: { ca_cert: { type: "string" }, acl_save: { type: "boolean" } },
	destination: ["address", "tls", "ca_cert"],
	command: "kv_command",
};
