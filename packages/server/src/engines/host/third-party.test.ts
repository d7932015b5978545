import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import {
	appendFile,
	chmod,
	copyFile,
	mkdir,
	readdir,
	readFile,
	rename,
	stat,
	symlink,
	truncate,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createTestLog } from "../../testing/log.ts";
import { makeFolder } from "../../testing/store.ts";
import { loadCatalog } from "./catalog.ts";
import { createEngineHost } from "./host.ts";
import { callable, descriptorOf, FIXTURES, failure, scripted, settings } from "./testing.ts";

/** Installs `one-shot` in a folder of engines, for a server that has `echo`. */
async function install(t: TestContext, changes: object = {}) {
	const folder = await makeFolder(t);
	const plugins_dir = join(folder, "plugins.d");
	const own = join(plugins_dir, "one-shot");
	const executable = join(own, "engine.sh");
	const plugin_json = join(own, "plugin.json");
	await mkdir(own, { recursive: true, mode: 0o755 });
	const script = `#!/bin/sh\n${await readFile(join(FIXTURES, "hostile/one-shot.sh"), "utf8")}`;
	await writeFile(executable, script, { mode: 0o755 });
	const described = { executable: "engine.sh", sha256: hash("sha256", script), ...changes };
	await writeFile(plugin_json, JSON.stringify(descriptorOf("one-shot", described)), { mode: 0o644 });
	const load = () => {
		const { log, entries } = createTestLog();
		const runtime_dir = join(folder, "run");
		const catalog = loadCatalog({
			built_in: [scripted("echo.mjs")],
			kindOf: () => ({}),
			plugins_dir,
			runtime_dir,
			log,
		});
		const host = callable(createEngineHost({ catalog, log, core_version: "0.1.0" }));
		t.after(() => host.close());
		return { catalog, host, log: entries };
	};
	return { folder, plugins_dir, own, executable, plugin_json, load };
}

test("a third party's engine is listed after ours and answers", async (t) => {
	const { load, folder } = await install(t);
	const { catalog, host } = load();
	assert.deepEqual(
		catalog.list().map(({ type, is_built_in, network, unavailable }) => [type, is_built_in, network, unavailable]),
		[
			["echo", true, false, undefined],
			["one-shot", false, false, undefined],
		],
	);
	assert.ok("data" in (await host.call("one-shot", settings(), "generate", {})));
	const { file } = catalog.byType.get("one-shot")?.launch([]) ?? assert.fail();
	assert.ok(file.startsWith(join(folder, "run")) && file.endsWith("/engine.sh"), "its copy runs, under its own name");
	assert.equal((await stat(file)).mode & 0o777, 0o500);
	assert.equal((await stat(join(folder, "run/engines"))).mode & 0o777, 0o700);
});

test("an engine that makes credentials is waited for longer", async (t) => {
	const { load } = await install(t, { capabilities: ["engine:dynamic_credentials"] });
	assert.equal(load().catalog.byType.get("one-shot")?.network, true);
});

test("a program that replaces the engine's after the start does not run", async (t) => {
	const { load, executable } = await install(t);
	const { host, catalog } = load();
	await writeFile(`${executable}.new`, "#!/bin/sh\nexit 66\n", { mode: 0o755 });
	await rename(`${executable}.new`, executable);
	assert.ok("data" in (await host.call("one-shot", settings(), "generate", {})));
	const { unavailable } = load().catalog.byType.get("one-shot") ?? assert.fail();
	assert.match(unavailable ?? "", /\bsha256\b/);
	assert.ok(catalog.byType.get("one-shot"));
});

type Installed = Awaited<ReturnType<typeof install>>;

const REFUSED: [name: string, reason: RegExp, changes: object, spoil: (made: Installed) => Promise<unknown>][] = [
	["without a hash", /\bno sha256\b/, { sha256: undefined }, async () => undefined],
	["without an executable", /\bno executable\b/, { executable: undefined }, async () => undefined],
	["with another hash", /\bsha256 differs\b/, { sha256: "0".repeat(64) }, async () => undefined],
	["with one byte more", /\bsha256 differs\b/, {}, ({ executable }) => appendFile(executable, "\n")],
	["whose executable is absent", /\(ENOENT\)/, { executable: "other" }, async () => undefined],
	["whose executable is a path", /\bexecutable\b.*\bname of a file\b/, { executable: "../x" }, async () => undefined],
	["whose name is not its folder's", /\bfolder's\b/, { name: "other" }, async () => undefined],
	["with another sdk_version", /sdk_version/, { sdk_version: 2 }, async () => undefined],
	["with a descriptor that is none", /plugin\.json: /, {}, ({ plugin_json }) => writeFile(plugin_json, "[]")],
	["in a folder that its group may write", /\bits folder\b.*\bwritten\b/, {}, ({ own }) => chmod(own, 0o775)],
	["in a folder that all may write", /\bits folder\b.*\bwritten\b/, {}, ({ own }) => chmod(own, 0o757)],
	[
		"below a folder that all may write",
		/\bfolder of all engines\b/,
		{},
		({ plugins_dir }) => chmod(plugins_dir, 0o777),
	],
	["whose program others may write", /\bexecutable\b.*\bwritten\b/, {}, ({ executable }) => chmod(executable, 0o757)],
	[
		"whose plugin.json others may write",
		/\bplugin\.json\b.*\bwritten\b/,
		{},
		({ plugin_json }) => chmod(plugin_json, 0o646),
	],
	["that is too large, without reading it", /\b256 MiB\b/, {}, ({ executable }) => truncate(executable, 2 ** 28 + 1)],
	[
		"whose program is a link that leaves the folder",
		/\blink\b/,
		{},
		async ({ executable, folder }) => {
			await rename(executable, join(folder, "outside"));
			await symlink(join(folder, "outside"), executable);
		},
	],
	[
		"whose program is a folder",
		/\bregular file\b/,
		{},
		async ({ executable, own }) => {
			await rename(executable, join(own, "x"));
			await mkdir(executable);
		},
	],
];

for (const [name, reason, changes, spoil] of REFUSED) {
	test(`an engine ${name} is listed with the reason, and the others are usable`, async (t) => {
		const made = await install(t, changes);
		await spoil(made);
		const { catalog, host, log } = made.load();
		const entry = catalog.byType.get("one-shot") ?? assert.fail();
		assert.match(entry.unavailable ?? "", reason);
		assert.deepEqual(
			log().map(({ event, engine, message }) => [event, engine, message]),
			[["engine.refused", "one-shot", entry.unavailable]],
		);
		assert.equal((await failure(host.call("one-shot", settings(), "generate", {}))).reason, entry.unavailable);
		assert.equal(host.state().find(({ type }) => type === "one-shot")?.unavailable, entry.unavailable);
		assert.ok("data" in (await host.call("echo", settings(), "generate", {})));
		assert.ok(!existsSync(join(made.folder, "run/engines/pinned/one-shot/engine.sh")), "no copy is kept");
	});
}

test("an engine that has the type of one of ours does not replace it", async (t) => {
	const { load, plugins_dir, own } = await install(t, { name: "echo" });
	await rename(own, join(plugins_dir, "echo"));
	const { catalog, host } = load();
	assert.deepEqual(
		catalog.list().map(({ type, is_built_in, unavailable }) => [type, is_built_in, unavailable === undefined]),
		[
			["echo", true, true],
			["echo", false, false],
		],
	);
	assert.ok("data" in (await host.call("echo", settings(), "generate", {})));
	assert.deepEqual(
		host.state().map(({ processes, unavailable }) => [processes, /\bbuilt-in\b/.test(unavailable ?? "")]),
		[
			[1, false],
			[0, true],
		],
	);
});

test("a link to a program inside the folder is followed", async (t) => {
	const { load, executable, own } = await install(t);
	await rename(executable, join(own, "engine-1.0"));
	await symlink("engine-1.0", executable);
	assert.equal(load().catalog.byType.get("one-shot")?.unavailable, undefined);
});

test("anything that is not an engine is at most in the log", async (t) => {
	const { load, plugins_dir, own } = await install(t);
	await mkdir(join(plugins_dir, "empty"));
	await mkdir(join(plugins_dir, "Upper"));
	await copyFile(join(own, "plugin.json"), join(plugins_dir, "Upper/plugin.json"));
	await mkdir(join(plugins_dir, "garbage"));
	await writeFile(join(plugins_dir, "garbage/plugin.json"), "CANARY {");
	await mkdir(join(plugins_dir, "huge"));
	await writeFile(join(plugins_dir, "huge/plugin.json"), " ".repeat(300 * 1024));
	await symlink(own, join(plugins_dir, "linked"));
	await writeFile(join(plugins_dir, "README"), "");
	const { catalog, log } = load();
	assert.deepEqual(
		catalog.list().map(({ type }) => type),
		["echo", "one-shot"],
	);
	assert.deepEqual(
		log().map(({ event, file }) => [event, String(file).replace(`${plugins_dir}/`, "")]),
		["Upper", "empty", "garbage", "huge"].map((name) => ["engine.ignored", name]),
	);
	assert.ok(!JSON.stringify(log()).includes("CANARY"));
});

test("without a folder of engines there are ours; with one that is a file, too, and that is logged", async (t) => {
	const folder = await makeFolder(t);
	const { log, entries } = createTestLog();
	const options = { built_in: [scripted("echo.mjs")], kindOf: () => ({}), runtime_dir: join(folder, "run"), log };
	assert.equal(loadCatalog({ ...options, plugins_dir: join(folder, "nowhere") }).list().length, 1);
	assert.deepEqual(entries(), []);
	await writeFile(join(folder, "file"), "");
	assert.equal(loadCatalog({ ...options, plugins_dir: join(folder, "file") }).list().length, 1);
	assert.equal(entries()[0]?.event, "engine.ignored");
});

test("the copies of the last start are gone, and those of this one after the end", async (t) => {
	const { folder, load } = await install(t);
	const run = join(folder, "run/engines");
	await mkdir(run, { recursive: true });
	await writeFile(join(run, "stale"), "");
	const { catalog, host } = load();
	assert.deepEqual((await readdir(run)).sort(), ["empty", "pinned"]);
	await host.close();
	catalog.close();
	assert.equal(existsSync(run), false);
});
