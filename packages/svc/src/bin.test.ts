import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

test("what was made of the sources is kept with the packages", () => {
	const { stdout, stderr, status } = spawnSync(process.execPath, [path("./bin.mjs"), "--version"], {
		encoding: "utf8",
	});
	assert.deepEqual([stdout, stderr, status], ["0.1.0\n", "", 0]);
	assert.ok(readdirSync(path("../../../node_modules/.cache/svc")).length > 0);
});

test("svc version tells the commit of a checkout", () => {
	const { stdout } = spawnSync(process.execPath, [path("./bin.mjs"), "version", "--json"], { encoding: "utf8" });
	const { version, commit, built } = JSON.parse(stdout);
	const head = spawnSync("git", ["log", "-1", "--format=%h"], { encoding: "utf8", cwd: path(".") }).stdout.trim();
	assert.deepEqual([version, commit], ["0.1.0", head === "" ? "unknown" : head]);
	assert.ok(head === "" || !Number.isNaN(Date.parse(built)));
});

test("svc version alone, which loads nothing of the client, says what it says with the client", () => {
	const run = (...args: string[]) =>
		spawnSync(process.execPath, [path("./bin.mjs"), ...args], { encoding: "utf8" }).stdout;
	const alone = run("version");
	const document = JSON.parse(run("version", "--json")) as Record<string, string>;
	const said = alone
		.trimEnd()
		.split("\n")
		.map((line) => line.split(/ {2,}/));
	assert.deepEqual(Object.fromEntries(said), document);
});
