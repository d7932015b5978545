import { createRequire } from "node:module";
import { runScript } from "@svc/server/asset";

const require = createRequire(import.meta.url);

/**
 * Runs a script of the single binary; the bundler puts a call of this in place of an `import()`.
 * @param name its asset: a function with the parameters of a CommonJS module
 * @returns its exports
 */
export function loadScript(name: string): unknown {
	return runScript(name, require);
}
