import type { Kind } from "../kind.ts";

/** The key-value store. The engine names the ACL command it wants; the core checks and runs it. Spec: ENGINES › keyvalue operations */
export const keyvalue: Kind = {
	connect: async (needs) => (await import("./connector.ts")).createKeyValueConnector(needs),
	address: ({ address }) => String(address).toLowerCase(),
	fields: {
		ca_cert: { type: "string", description: "PEM certificate of the authority that signed the target's certificate." },
		acl_save: { type: "boolean", description: "Runs ACL SAVE after each removal." },
	},
	destination: ["address", "tls", "ca_cert"],
	command: "kv_command",
};
