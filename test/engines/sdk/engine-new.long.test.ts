/* `svc engine new` gives an author a working engine, in every language. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testEngine } from "../../../packages/plugin-sdk/src/testing/conformance.ts";
import { goBuild } from "../../harness/go-build.ts";

const MAIN = fileURLToPath(new URL("../../../packages/svc/src/main.ts", import.meta.url));

/** Longer than a start takes on a busy machine. */
const PATIENCE_MS = 30_000;

const scratch = mkdtempSync(join(tmpdir(), "svc-engine-new-"));
after(() => rmSync(scratch, { recursive: true }));

function svc(...args: string[]) {
	const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, "engine", "new", ...args], {
		cwd: scratch,
		env: { PATH: "/usr/bin:/bin" },
		encoding: "utf8",
		timeout: 300_000,
	});
	return { status, stdout, stderr };
}

/** The files of each language, and the command that starts the program. */
const LANGUAGES: Record<string, [files: string[], command: (folder: string) => string[]]> = {
	go: [["README.md", "go.mod", "main.go", "plugin.json"], (folder) => [join(folder, "engine")]],
	python: [["README.md", "engine.py", "plugin.json"], (folder) => [join(folder, "engine.py")]],
	sh: [["LIMITS.md", "README.md", "engine.sh", "plugin.json"], (folder) => [join(folder, "engine.sh")]],
	// Uses this Node: the one on the server's path may be too old for TypeScript.
	ts: [["README.md", "engine.mts", "plugin.json"], (folder) => [process.execPath, join(folder, "engine.mts")]],
};

for (const [language, [files, command]] of Object.entries(LANGUAGES)) {
	// In Python, a program with its own name would shadow a module that it needs.
	const name = "secrets";
	test(`a new engine in ${language} keeps the contract as it is, under its own name`, async (t) => {
		const folder = join(scratch, language);
		const { status, stdout } = svc(name, "--lang", language, "--dir", language);
		assert.equal(status, 0);
		assert.deepEqual(stdout.trim().replace(`${language}: `, "").split(", ").toSorted(), files);
		assert.deepEqual(readdirSync(folder).toSorted(), files);
		if (language === "go" && !goBuild(folder, join(folder, "engine")))
			return t.skip("go is not installed: see https://go.dev/dl");
		const descriptor = JSON.parse(readFileSync(join(folder, "plugin.json"), "utf8"));
		assert.deepEqual([descriptor.name, descriptor.display_name], [name, name]);
		assert.ok(statSync(join(folder, descriptor.executable)).mode & 0o100, "what plugin.json names can be executed");
		const results = await testEngine({ command: command(folder), descriptor, timeout_ms: PATIENCE_MS });
		assert.deepEqual(
			results.filter(({ passed }) => !passed),
			[],
		);
		assert.ok(results.length > 15);
	});
}

test("the folder has the engine's name when no other is given, and svc shows the next steps", () => {
	const { status, stdout, stderr } = svc("gift-cards", "--lang", "go");
	assert.deepEqual([status, stdout], [0, "gift-cards: plugin.json, go.mod, main.go, README.md\n"]);
	assert.match(stderr, /^next: cd gift-cards && CGO_ENABLED=0 go build -o engine \. && svc engine test \./);
	assert.match(readFileSync(join(scratch, "gift-cards/README.md"), "utf8"), /^# gift-cards\n/);
});

test("a folder that holds something stays as it is", () => {
	const folder = join(scratch, "mine");
	mkdirSync(folder);
	writeFileSync(join(folder, "plugin.json"), "mine");
	const { status, stdout, stderr } = svc("mine", "--lang", "sh");
	assert.deepEqual([status, stdout], [1, ""]);
	assert.match(stderr, /^svc: .*\bnot empty\b.*\nhint: .*--dir\n$/);
	assert.deepEqual(readdirSync(folder), ["plugin.json"]);
	assert.equal(readFileSync(join(folder, "plugin.json"), "utf8"), "mine");
});

test("what cannot be a type, and a language that there is not, are refused before anything is written", () => {
	for (const name of ["Voucher", "../voucher", "1", "a".repeat(41), ""]) {
		const { status, stderr } = svc(name, "--lang", "sh", "--dir", "refused");
		assert.equal(status, 2);
		assert.match(stderr, /^svc: a name .*\b1 to 40\b/);
	}
	assert.equal(svc("voucher", "--lang", "cobol", "--dir", "refused").status, 2);
	assert.equal(svc("voucher", "--dir", "refused").status, 2);
	assert.ok(!readdirSync(scratch).includes("refused"));
});

test("the next steps can be pasted into a shell, whatever the folder is called", () => {
	const folder = "it's $HOME & mine";
	const { stderr } = svc("voucher", "--lang", "sh", "--dir", folder);
	const [, step = ""] = /^next: (cd .*?) && svc engine test \./m.exec(stderr) ?? [];
	const { stdout } = spawnSync("sh", ["-c", `${step} && pwd`], { cwd: scratch, encoding: "utf8" });
	assert.equal(stdout, `${join(scratch, folder)}\n`);
});
