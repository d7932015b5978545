/* The two packages as published: built to JavaScript, and used from a folder with nothing else of this repository. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TSC = join(ROOT, "node_modules/.bin/tsc");
const PACKAGES = ["protocol", "plugin-sdk"] as const;

const scratch = mkdtempSync(join(tmpdir(), "svc-published-"));
const author = join(scratch, "author");
after(() => rmSync(scratch, { recursive: true }));

/** Runs the commands of `npm run build` in a copy of the two packages. */
function build(): void {
	const copies = join(scratch, "packages");
	cpSync(join(ROOT, "tsconfig.base.json"), join(scratch, "tsconfig.base.json"));
	symlinkSync(join(ROOT, "node_modules"), join(scratch, "node_modules"));
	for (const name of PACKAGES) {
		const notCopied = ["node_modules", "dist"].map((folder) => join(ROOT, "packages", name, folder));
		cpSync(join(ROOT, "packages", name), join(copies, name), {
			recursive: true,
			filter: (file) => !notCopied.includes(file),
		});
	}
	link(realpathSync(join(ROOT, "packages/protocol/node_modules/valibot")), join(copies, "protocol"), "valibot");
	link(join(copies, "protocol"), join(copies, "plugin-sdk"), "@svc/protocol");
	const { scripts } = manifest(join(copies, "plugin-sdk"));
	const [command, ...args] = scripts.build.split(" ");
	assert.equal(command, "tsc");
	run(TSC, args, join(copies, "plugin-sdk"));
}

/** Installs the published part of the two packages as in an author's node_modules: pnpm replaces exports with publishConfig. */
function install(): void {
	for (const name of PACKAGES) {
		const from = join(scratch, "packages", name);
		const to = join(author, "node_modules/@svc", name);
		cpSync(join(from, "dist"), join(to, "dist"), { recursive: true });
		const { publishConfig, ...rest } = manifest(from);
		writeFileSync(join(to, "package.json"), JSON.stringify({ ...rest, exports: publishConfig.exports }));
	}
	link(realpathSync(join(ROOT, "packages/protocol/node_modules/valibot")), author, "valibot");
	link(realpathSync(join(ROOT, "node_modules/@types/node")), author, "@types/node");
	cpSync(join(ROOT, "packages/plugin-sdk/examples/typescript"), join(author, "engine"), { recursive: true });
	writeFileSync(join(author, "package.json"), JSON.stringify({ name: "author", private: true, type: "module" }));
}

const manifest = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

function link(target: string, folder: string, name: string): void {
	const path = join(folder, "node_modules", name);
	mkdirSync(join(path, ".."), { recursive: true });
	symlinkSync(target, path);
}

function run(command: string, args: readonly string[], cwd: string, input = "") {
	const { status, stdout, stderr } = spawnSync(command, args, { cwd, input, encoding: "utf8", timeout: 300_000 });
	assert.deepEqual([status, stderr], [0, ""], stdout);
	return stdout;
}

before(() => {
	build();
	install();
});

test("only JavaScript and declarations are built, without tests", () => {
	for (const name of PACKAGES) {
		const folder = join(author, "node_modules/@svc", name, "dist");
		const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
		const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
		assert.deepEqual(
			files.filter((file) => !/\.js$|\.d\.ts$|\.tsbuildinfo$/.test(file) || /test\.|broken/.test(file)),
			[],
		);
		const javascript = files.filter((file) => file.endsWith(".js"));
		assert.ok(javascript.length >= 6);
		for (const file of javascript) assert.doesNotMatch(readFileSync(file, "utf8"), /from "\.[^"]*\.ts"/);
	}
});

test("the example engine runs on what was built", () => {
	const lines = ["describe", "generate", "ping"].map((method) => `${JSON.stringify({ method, params: {} })}\n`);
	const stdout = run(process.execPath, ["engine/main.ts"], author, lines.join(""));
	const [described, made, pinged] = stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	assert.equal(described.data.name, "voucher");
	assert.match(made.data.voucher, /^V-\d{16}$/);
	assert.deepEqual(pinged, { data: { status: "healthy" } });
});

test("the example engine keeps the contract, says the test that was built", async () => {
	const { testEngine } = await import(
		pathToFileURL(join(author, "node_modules/@svc/plugin-sdk/dist/testing/conformance.js")).href
	);
	const results = await testEngine({ directory: join(author, "engine"), timeout_ms: 30_000 });
	assert.deepEqual(
		results.filter(({ passed }: { passed: boolean }) => !passed),
		[],
	);
	assert.ok(results.length > 15);
});

test("the declarations are checked with an author's code, and find its mistakes", () => {
	const compilerOptions = { target: "esnext", module: "nodenext", types: ["node"], strict: true, noEmit: true };
	const check = (name: string, text: string) => {
		writeFileSync(join(author, `${name}.ts`), text);
		writeFileSync(join(author, "tsconfig.json"), JSON.stringify({ compilerOptions, include: [`${name}.ts`] }));
		return spawnSync(TSC, ["-p", "."], { cwd: author, encoding: "utf8", timeout: 300_000 });
	};
	const imports = 'import { type Engine, optionalText, serveEngine } from "@svc/plugin-sdk";\n';
	const testing = 'import { type Result, testEngine } from "@svc/plugin-sdk/testing";\n';
	const right = `${imports}${testing}
const engine: Engine = { descriptor: {}, generate: (params) => ({ value: optionalText(params, "value") }) };
await serveEngine(engine);
export const results: Result[] = await testEngine({ directory: "." });
`;
	const { status, stdout } = check("right", right);
	assert.deepEqual([status, stdout], [0, ""]);
	const wrong = check("wrong", `${right}${"await testEngine({ directory: 5 });"}\n`);
	assert.match(wrong.stdout, /wrong\.ts\(\d+,\d+\): error TS2322: Type 'number' is not assignable to type 'string'/);
});
