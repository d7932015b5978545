import { readFileSync } from "node:fs";
import { type EngineProgram, installEngine } from "../../harness/install-engine.ts";

const FIXTURES = new URL("../../../packages/server/src/engines/host/fixtures/", import.meta.url);

/**
 * Wraps a script of the host's own tests as a third party's program. Its file has the type's name, because that is the name it gives.
 * @param script path below the host's fixtures, such as `hostile/deaf.mjs`
 */
function programOf(type: string, script: string): EngineProgram {
	const path = new URL(script, FIXTURES);
	if (script.endsWith(".sh")) return { file: `${type}.sh`, text: `#!/bin/sh\n${readFileSync(path, "utf8")}` };
	return { file: `${type}.mjs`, text: `#!${process.execPath}\nimport ${JSON.stringify(path.href)};\n` };
}

/** A configuration field that the engine's process receives as this variable. */
const variable = (env: string) => ({ type: "string", env });

/** Configuration of the scripts: `journal`, a file in which they record their requests; `changes`, `kind`, `password`. */
const CONFIG_SCHEMA = {
	type: "object",
	properties: {
		journal: variable("SVC_TEST_JOURNAL"),
		changes: variable("SVC_TEST_CHANGES"),
		kind: variable("SVC_TEST_KIND"),
		password: { ...variable("SVC_TEST_PASSWORD"), format: "password" },
	},
};

/**
 * Installs scripts of the host's own tests in a folder of engines, by type.
 * @param changes fields of plugin.json that differ from the usual ones
 */
export async function installHostile(
	folder: string,
	scripts: Readonly<Record<string, string>>,
	changes: object = {},
): Promise<void> {
	for (const [type, script] of Object.entries(scripts)) {
		await installEngine(folder, type, programOf(type, script), { config_schema: CONFIG_SCHEMA, ...changes });
	}
}
