import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TargetError } from "../../../packages/server/src/engines/kinds/connector.ts";
import type { Kind } from "../../../packages/server/src/engines/kinds/kind.ts";
import { isManagedName } from "../../../packages/server/src/engines/kinds/managed-user.ts";

/** A folder in which every file is a user: the file's name is the user's name, its content the password. */
export const folder: Kind = {
	descriptor: {
		...{ name: "folder", display_name: "Folder", description: "Makes users that are files of a folder" },
		...{ version: "0.1.0", sdk_version: 1, min_core_version: "0.1.0", tier: "community" },
		capabilities: ["engine:dynamic_credentials"],
		config_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
		default_roles: [{ name: "readonly", config: {} }],
	},
	address: ({ path }) => String(path),
	async connect({ fields, system }) {
		const file = (name: string) => join(String(fields.path), name);
		const hex = (bytes: number) => system.randomBytes(bytes).toString("hex");
		const list = async () => (await readdir(file(".")).catch(unreachable)).filter(isManagedName);
		return {
			scopes: [""],
			list,
			ping: async () => void (await list()),
			exists: async ({ name }) => (await list()).includes(name),
			async prepare({ ttl_ms }) {
				const [username, password] = [`svc_${hex(4)}`, hex(12)];
				const expires_at = new Date(system.now().getTime() + ttl_ms).toISOString();
				const create = async () => {
					await writeFile(file(username), password, { flag: "wx" }).catch(unreachable);
					return { data: { username, password, expires_at }, expires_at };
				};
				return { name: username, fence: "", create };
			},
			async readRevoke({ params: { username } }) {
				if (typeof username !== "string" || !isManagedName(username))
					throw new TargetError("rejected", "username must be svc_ and 8 hex characters");
				return { name: username, answer: { valid: true, message: "credentials revoked" } };
			},
			remove: ({ name }) => rm(file(name), { force: true }).catch(unreachable),
		};
	},
};

/** Reports an error at the target without a secret. */
function unreachable({ code }: NodeJS.ErrnoException): never {
	throw new TargetError("unreachable", `the folder cannot be used (${code})`);
}
