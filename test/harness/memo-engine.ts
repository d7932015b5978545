import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A third party's engine that needs no target: its credentials live nowhere, its core chooses their names. */
const SCRIPT = `#!/bin/sh
while IFS= read -r line; do
  case $line in
    *'"method":"describe"'*) echo '{"data":{"name":"NAME","version":"0.1.0","display_name":"Memo","description":"Nothing at all","capabilities":["dynamic_credentials"]}}' ;;
    *'"method":"ping"'*) echo '{"data":{"status":"healthy"}}' ;;
    *'"method":"generate"'*) echo '{"data":{"token":"made"}}' ;;
    *) echo '{"data":{"valid":true,"message":"gone"}}' ;;
  esac
done
`;

/** A folder of engines, for `SVC_PLUGINS_DIR`. */
export interface MemoEngines {
	readonly folder: string;
	readonly types: readonly string[];
	remove(): Promise<void>;
}

/** Installs so many engines of this kind, \`memo-1\` and on. */
export async function installMemoEngines(count: number): Promise<MemoEngines> {
	const folder = await mkdtemp(join(tmpdir(), "svc-engines-"));
	const types = Array.from({ length: count }, (_, at) => `memo-${at + 1}`);
	for (const type of types) await install(folder, type);
	return { folder, types, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function install(folder: string, type: string): Promise<void> {
	const home = join(folder, type);
	const script = SCRIPT.replace("NAME", type);
	await mkdir(home, { mode: 0o700 });
	await writeFile(join(home, "engine.sh"), script);
	await chmod(join(home, "engine.sh"), 0o700);
	const descriptor = {
		name: type,
		version: "0.1.0",
		display_name: "Memo",
		description: "Nothing at all",
		sdk_version: 1,
		min_core_version: "0.1.0",
		capabilities: ["engine:dynamic_credentials", "engine:lease_hint"],
		tier: "community",
		config_schema: { type: "object", properties: { note: { type: "string" } } },
		default_roles: [{ name: "readonly", config: {} }],
		executable: "engine.sh",
		sha256: createHash("sha256").update(script).digest("hex"),
	};
	await writeFile(join(home, "plugin.json"), JSON.stringify(descriptor), { mode: 0o600 });
}
