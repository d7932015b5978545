import { readFileSync } from "node:fs";
import { getRawAsset } from "node:sea";
import { Worker, type WorkerOptions } from "node:worker_threads";

/*

 * Assets: files that are part of the program. The bundler finds each by its call, `startThread(new URL(…))` or `readAsset(new URL(…))`, puts it into the single
 * binary and leaves an address with this protocol in its place. It refuses any other code that names a file next to a source.
 */
const IN_BINARY = "asset:";

/**
 * Starts a thread of this program.
 * @param source its module: `new URL("./x-thread.ts", import.meta.url)`
 * Design: §3
 */
export function startThread(source: URL, options: WorkerOptions = {}): Worker {
	if (source.protocol !== IN_BINARY) return new Worker(source, options);
	return new Worker(`(${runScript})(${JSON.stringify(source.pathname)}, require)`, { ...options, eval: true });
}

/** Ending of the asset with V8's compiled code, next to its script. */
export const COMPILED = ".compiled";

/**
 * Runs a script of the single binary. It names nothing outside itself, because a thread receives its text.
 * @param name its asset: a function with the parameters of a CommonJS module
 * @param load `require`
 * @returns its exports
 */
export function runScript(name: string, load: NodeJS.Require): unknown {
	const { getRawAsset } = load("node:sea") as typeof import("node:sea");
	const { Script } = load("node:vm") as typeof import("node:vm");
	const cachedData = Buffer.from(getRawAsset(`${name}.compiled`));
	const script = new Script(Buffer.from(getRawAsset(name)).toString("latin1"), { filename: name, cachedData });
	const module = { exports: {} };
	script.runInThisContext()(module.exports, load, module);
	return module.exports;
}

/** First bytes of a file in the gzip format: the single binary has large files compressed. */
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * Reads a file of this program, or of a package that it depends on.
 * @param file `new URL("./x.css", import.meta.url)`, or `new URL(import.meta.resolve("package/x.css"))`
 */
export function readAsset(file: URL): Buffer {
	if (file.protocol !== IN_BINARY) return readFileSync(file);
	const asset = Buffer.from(getRawAsset(file.pathname));
	// Not imported, because every start would load it.
	return asset.subarray(0, GZIP.length).equals(GZIP) ? process.getBuiltinModule("node:zlib").gunzipSync(asset) : asset;
}
