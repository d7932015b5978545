import { createRequire } from "node:module";
import { getRawAsset } from "node:sea";
import { Script } from "node:vm";

const require = createRequire(import.meta.url);

/** Ending of the asset with V8's compiled code, next to its script. */
export const COMPILED = ".compiled";

/**
 * Runs a script of the single binary; the bundler puts a call of this in place of an `import()`.
 * @param name its asset: a function with the parameters of a CommonJS module
 * @returns its exports
 */
export function loadScript(name: string): unknown {
	const cachedData = Buffer.from(getRawAsset(name + COMPILED));
	const script = new Script(Buffer.from(getRawAsset(name)).toString("latin1"), { filename: name, cachedData });
	const module = { exports: {} };
	script.runInThisContext()(module.exports, require, module);
	return module.exports;
}
