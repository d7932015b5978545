/*
 * `node --require stand-in.cts …` with BINARY_ASSETS, a file of assets by name: stands in for the binary's access to its own assets, in the process and in
 * each of its threads, in which `--import` does nothing.
 */
const { readFileSync } = require("node:fs") as typeof import("node:fs");

// biome-ignore lint/style/noProcessEnv: threads get no other word from the process that starts them
const list = readFileSync(process.env.BINARY_ASSETS ?? "", "utf8");
const assets = JSON.parse(list) as Record<string, string>;

Object.assign(process.getBuiltinModule("node:sea"), {
	isSea: () => true,
	getAsset: (asset: string) => readFileSync(assets[asset] ?? "", "utf8"),
	getRawAsset: (asset: string) => Uint8Array.from(readFileSync(assets[asset] ?? "")).buffer,
});

// The server does not start where it finds code of somebody else's.
process.execArgv.splice(process.execArgv.indexOf("--require"), 2);
