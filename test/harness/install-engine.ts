import { hash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The program of a third party's engine, and the name of its file. */
export interface EngineProgram {
	readonly file: string;
	readonly text: string;
}

/**
 * Installs a third party's engine in a folder of engines, as its instructions say.
 * @param changes fields of plugin.json that differ from the usual ones
 * @returns the engine's own folder
 */
export async function installEngine(
	folder: string,
	type: string,
	{ file, text }: EngineProgram,
	changes: object = {},
): Promise<string> {
	const home = join(folder, type);
	await mkdir(home, { mode: 0o700 });
	await writeFile(join(home, file), text, { mode: 0o700 });
	const descriptor = {
		name: type,
		version: "0.1.0",
		display_name: "An engine of the tests",
		description: "Nothing at all",
		sdk_version: 1,
		min_core_version: "0.1.0",
		capabilities: ["engine:secret_generation", "engine:secret_validation"],
		tier: "community",
		config_schema: { type: "object", properties: {} },
		default_roles: [],
		executable: file,
		sha256: hash("sha256", text),
		...changes,
	};
	await writeFile(join(home, "plugin.json"), JSON.stringify(descriptor), { mode: 0o600 });
	return home;
}
