/*
 * `node --require stand-in.cts …` with BINARY_ASSETS, a file of assets by name: stands in for the binary's access to its own assets, in the process and in
 * each of its threads, in which `--import` does nothing. Where one of them ends by itself, it writes V8's compiled code of each script that it ran, next to
 * the script.
 */
const { readFileSync, writeFileSync } = require("node:fs") as typeof import("node:fs");

// biome-ignore lint/style/noProcessEnv: threads get no other word from the process that starts them
const list = readFileSync(process.env.BINARY_ASSETS ?? "", "utf8");
const assets = JSON.parse(list) as Record<string, string>;

const bytesOf = (asset: string) => readFileSync(assets[asset] ?? "");

Object.assign(process.getBuiltinModule("node:sea"), {
	isSea: () => true,
	getAsset: (asset: string) => bytesOf(asset).toString(),
	// Nothing is compiled yet.
	getRawAsset: (asset: string) => Uint8Array.from(asset in assets ? bytesOf(asset) : []).buffer,
});

const vm = process.getBuiltinModule("node:vm");
vm.Script = class extends vm.Script {
	constructor(source: string, options: { filename: string }) {
		super(source, options);
		const file = `${assets[options.filename]}.compiled`;
		process.once("exit", () => writeFileSync(file, this.createCachedData()));
	}
};

// The server does not start where it finds code of somebody else's.
process.execArgv.splice(process.execArgv.indexOf("--require"), 2);
