import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { readBuild } from "../../packages/server/src/health/build.ts";
import { type Bundle, bundle, PACKAGES, ROOT } from "../../scripts/binary/bundle.ts";
import { compileRepeatably, compileScripts } from "../../scripts/binary/compiled.ts";
import { constantsOf } from "../../scripts/binary/executable.ts";

const SERVER = "packages/svc/src/server.ts";
const WRITER = "packages/server/src/store/sqlite/writer-thread.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-start-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const constants = constantsOf(readBuild());
let bundled: Bundle;
before(async () => {
	bundled = await bundle(folder, constants);
});

const scriptOf = (assets: Bundle["assets"], name: string) => assets[name] ?? "";

/** Starts the server of a bundle until it says that it listens. @returns the parts of Node that are loaded then, and its log */
function start({ assets }: Bundle): { loaded: string[]; log: string } {
	const [list, first, home] = [
		join(folder, "list.json"),
		join(folder, "first.mjs"),
		mkdtempSync(join(folder, "home-")),
	];
	writeFileSync(list, JSON.stringify(assets));
	const rehearsal = pathToFileURL(join(ROOT, "scripts/binary/rehearsal.ts"));
	writeFileSync(
		first,
		`const write = process.stdout.write.bind(process.stdout);
		process.stdout.write = () => {
			write(JSON.stringify(process.moduleLoadList));
			process.kill(process.pid, "SIGTERM");
		};
		await import(${JSON.stringify(rehearsal)});`,
	);
	const args = ["--require", join(ROOT, "scripts/binary/stand-in.cts"), first, scriptOf(assets, SERVER), SERVER];
	const env = { HOME: home, SVC_DATA_DIR: join(home, "data"), SVC_LISTEN: "127.0.0.1:0", BINARY_ASSETS: list };
	const { stdout, stderr, status } = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 60_000 });
	assert.equal(status, 0, stderr);
	return { loaded: JSON.parse(stdout) as string[], log: stderr };
}

test("the scripts are ASCII: a start reads each byte as a character", () => {
	const { main, assets, scripts } = bundled;
	for (const file of [main, ...scripts.map((name) => scriptOf(assets, name))]) {
		const strange = /.{0,40}[^\0-\x7f].{0,40}/.exec(readFileSync(file, "utf8"));
		assert.equal(strange?.[0], undefined, file);
	}
});

test("the server says that it listens before it loads what only requests need", () => {
	const { loaded, log } = start(bundled);
	assert.doesNotMatch(log, /altered/);
	assert.ok(loaded.includes("NativeModule https"));
	for (const late of ["internal/deps/undici/undici", "zlib"]) assert.ok(!loaded.includes(`NativeModule ${late}`), late);
});

test("the server compares its database with the schema that the build has described", async () => {
	const described = /(?<quote>\\?")table realm\k<quote>/;
	const script = scriptOf(bundled.assets, SERVER);
	const text = readFileSync(script, "latin1");
	assert.match(text, described);
	const other = join(folder, "other.js");
	writeFileSync(other, text.replace(described, "$<quote>table other$<quote>"), "latin1");
	const { log } = start({ ...bundled, assets: { ...bundled.assets, [SERVER]: other } });
	assert.match(log, /altered.*table realm/);
});

test("the functions that the writer's thread calls at a start are compiled beforehand", async () => {
	// The server starts the thread.
	const few = { ...bundled, scripts: [SERVER, WRITER] };
	const whole = await compileScripts(few, folder);
	const cachedData = readFileSync(whole[`${WRITER}.compiled`] ?? "");
	const text = readFileSync(scriptOf(bundled.assets, WRITER), "latin1");
	assert.equal(new Script(text, { cachedData }).cachedDataRejected, false);
	const least = readFileSync(compileRepeatably(few, folder)[`${WRITER}.compiled`] ?? "");
	assert.ok(cachedData.length > 2 * least.length, `${cachedData.length} and ${least.length} bytes`);
});

test("a package that few servers load is not in the server's script, and its own script exports the same", () => {
	const server = readFileSync(scriptOf(bundled.assets, SERVER), "latin1");
	const ofServer = createRequire(join(ROOT, "packages/server/package.json"));
	for (const name of PACKAGES) {
		assert.ok(server.includes(`("${name}")`), name);
		const script = new Script(readFileSync(scriptOf(bundled.assets, name), "latin1"));
		const module = { exports: {} };
		script.runInThisContext()(module.exports, createRequire(import.meta.url), module);
		const names = (exported: object) =>
			new Set(Object.keys(exported).filter((key) => key !== "__esModule" && key !== "default"));
		assert.deepEqual(names(module.exports), names(ofServer(name) as object), name);
	}
	for (const own of ["MongoServerSelectionError", "XREADGROUP", "pg-pool", "RelativeDistinguishedNames"])
		assert.ok(!server.includes(own), own);
});
