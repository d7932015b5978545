import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMPILED } from "../../packages/server/src/asset.ts";
import { startServerProcess } from "../bench/child.ts";
import { exchange } from "../bench/exchange.ts";
import { type Bundle, ROOT } from "./bundle.ts";
import { runTool } from "./tool.ts";

const REHEARSAL = ["--require", join(ROOT, "scripts/binary/stand-in.cts"), join(ROOT, "scripts/binary/rehearsal.ts")];
const COMPILE_ONLY = join(ROOT, "scripts/binary/compile-only.ts");

const SERVER = "packages/svc/src/server.ts";

/** Flags of V8 with which the server starts our engines. */
const ENGINE_FLAGS = ["--disallow-code-generation-from-strings"];

/** Needed to start one of them; nobody asks it anything. */
const ENGINE_SETTINGS = { SVC_ORCH_API_SERVER: "https://127.0.0.1", SVC_ORCH_TOKEN: "none" };

/**
 * Compiles the scripts beforehand. Runs each once, because V8 compiles a function at its first call: the server until it has
 * answered, with the threads that it starts, the client for its help, an engine to the end of its input.
 * @param folder for the results
 * @returns the results, as further assets
 * @throws Error when a script cannot be run here
 */
export async function compileScripts({ assets, scripts }: Bundle, folder: string): Promise<Record<string, string>> {
	const list = join(folder, "assets.json");
	writeFileSync(list, JSON.stringify(assets));
	const compiled: Record<string, string> = {};
	for (const name of serverFirst(scripts)) {
		const output = `${assets[name]}${COMPILED}`;
		const args = [...REHEARSAL, assets[name] ?? "", name];
		const env = { BINARY_ASSETS: list };
		if (name === SERVER) await rehearseServer(args, env, folder);
		else if (name.startsWith("plugins/"))
			runTool(process.execPath, [...ENGINE_FLAGS, ...args], { env: { ...env, ...ENGINE_SETTINGS } });
		else if (name.startsWith("packages/svc/")) runTool(process.execPath, [...args, "--help"], { env });
		// A part of the server, which does nothing by itself: the server may have run it.
		else if (!existsSync(output)) compileOnly(assets[name] ?? "", name, output);
		compiled[name + COMPILED] = output;
	}
	return compiled;
}

function serverFirst(scripts: readonly string[]): string[] {
	return [...scripts].sort((one, other) => Number(other === SERVER) - Number(one === SERVER));
}

/**
 * Compiles the scripts without running them: the same sources give the same bytes, and a start takes some 20 ms more.
 * @param folder for the results
 * @returns the results, as further assets
 */
export function compileRepeatably({ assets, scripts }: Bundle, folder: string): Record<string, string> {
	return Object.fromEntries(
		scripts.map((name) => {
			const output = join(folder, `${name.replaceAll("/", "-")}${COMPILED}`);
			compileOnly(assets[name] ?? "", name, output, name.startsWith("plugins/") ? ENGINE_FLAGS : []);
			return [name + COMPILED, output];
		}),
	);
}

function compileOnly(script: string, name: string, output: string, flags: readonly string[] = []): void {
	runTool(process.execPath, ["--hash-seed=42", ...flags, COMPILE_ONLY, script, name, output]);
}

async function rehearseServer(args: string[], assets: Readonly<Record<string, string>>, folder: string): Promise<void> {
	const home = mkdtempSync(join(folder, "home-"));
	try {
		const env = { ...assets, HOME: home, SVC_DATA_DIR: join(home, "data"), SVC_LISTEN: "127.0.0.1:0" };
		const server = await startServerProcess({ args, env });
		await exchange(server.url, { method: "GET", path: "/api/v1/health" });
		await server.stop();
	} finally {
		rmSync(home, { recursive: true, force: true });
	}
}
