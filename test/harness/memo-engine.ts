import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installEngine } from "./install-engine.ts";

/** A note in a request whose credential the engine does not revoke. */
export const REFUSING = "refuse to revoke";

/** A third party's engine without a target: its credentials live nowhere, and the core chooses their names. */
const SCRIPT = `#!/bin/sh
while IFS= read -r line; do
  case $line in
    *'"method":"describe"'*) echo '{"data":{"name":"NAME","version":"0.1.0","display_name":"Memo","description":"Nothing at all","capabilities":["dynamic_credentials"]}}' ;;
    *'"method":"ping"'*) echo '{"data":{"status":"healthy"}}' ;;
    *'"method":"generate"'*"${REFUSING}"*) echo '{"data":{"token":"${REFUSING}"}}' ;;
    *'"method":"generate"'*) echo '{"data":{"token":"made"}}' ;;
    *"${REFUSING}"*) echo '{"error":"status 409: the account still owns a table"}' ;;
    *) echo '{"data":{"valid":true,"message":"gone"}}' ;;
  esac
done
`;

/** The engine's plugin.json. */
const DESCRIPTOR = {
	display_name: "Memo",
	capabilities: ["engine:dynamic_credentials", "engine:lease_hint"],
	config_schema: { type: "object", properties: { note: { type: "string" } } },
	default_roles: [{ name: "readonly", config: {} }],
};

/** A folder of engines, for `SVC_PLUGINS_DIR`. */
export interface MemoEngines {
	readonly folder: string;
	readonly types: readonly string[];
	remove(): Promise<void>;
}

/** Installs this many engines of this kind, `memo-1` and on. */
export async function installMemoEngines(count: number): Promise<MemoEngines> {
	const folder = await mkdtemp(join(tmpdir(), "svc-engines-"));
	const types = Array.from({ length: count }, (_, at) => `memo-${at + 1}`);
	for (const type of types) {
		await installEngine(folder, type, { file: "engine.sh", text: SCRIPT.replace("NAME", type) }, DESCRIPTOR);
	}
	return { folder, types, remove: () => rm(folder, { recursive: true, force: true }) };
}
