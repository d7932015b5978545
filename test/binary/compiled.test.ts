import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Script } from "node:vm";
import { builtInEntry } from "../../packages/server/src/engines/host/built-in.ts";
import { compileScripts } from "../../scripts/binary/compiled.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-compiled-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The script as the bundler leaves it. @param called the function that a start calls */
const textOf = (called: string) => `(function (exports, require, module) {
	function short() { return 0; }
	function long(a) { return [${Array.from({ length: 100 }, (_, at) => `a + ${at}`).join()}].length - 100; }
	exports.run = async (process) => { process.exitCode = ${called}(1); };
})`;
const TEXT = textOf("long");

/** Compiles a text as a script of this name. @returns the file that V8 made of it */
async function compiled(name: string, text: string): Promise<string> {
	const file = join(folder, "script.cjs");
	writeFileSync(file, text);
	const assets = { [name]: file };
	const [output = ""] = Object.values(
		await compileScripts({ main: "", assets, scripts: [name], packages: [] }, folder),
	);
	return output;
}

test("an engine of ours takes what was compiled beforehand under the flags that the server starts it with", async () => {
	const cache = await compiled("plugins/example/main.ts", TEXT);
	const engine = { descriptor: JSON.parse(readFileSync("plugins/totp/plugin.json", "utf8")), network: false };
	const launch = { file: process.execPath, arguments: [] };
	const { node_options = "" } = builtInEntry({ ...engine, launch, node: "environment" }, () => ({})).launch([folder]);
	const check = `
		const { readFileSync } = require("node:fs");
		const cachedData = readFileSync(${JSON.stringify(cache)});
		console.log(new (require("node:vm").Script)(${JSON.stringify(TEXT)}, { cachedData }).cachedDataRejected);
	`;
	const env = { NODE_OPTIONS: node_options };
	const { stdout, stderr } = spawnSync(process.execPath, ["-e", check], { env, encoding: "utf8" });
	assert.equal(stdout, "false\n", stderr);
});

test("a script takes what was compiled beforehand, and the functions that a start calls are in it", async () => {
	const cachedData = readFileSync(await compiled("packages/svc/src/client.ts", TEXT));
	assert.equal(new Script(TEXT, { cachedData }).cachedDataRejected, false);
	const other = readFileSync(await compiled("packages/svc/src/client.ts", textOf("short")));
	assert.ok(cachedData.length > other.length + 300, `${cachedData.length} and ${other.length} bytes`);
});

test("a script that cannot be run ends the build", async () => {
	const file = join(folder, "broken.cjs");
	writeFileSync(file, '(function () { throw new Error("broken here"); })');
	const bundle = { main: "", assets: { "packages/svc/src/client.ts": file }, scripts: ["packages/svc/src/client.ts"] };
	await assert.rejects(compileScripts({ ...bundle, packages: [] }, folder), /\bstatus 1\b.*broken here/s);
});
