/* `svc engine install`, and the way from nothing to an installed engine, word by word as the SDK's page describes it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	appendFileSync,
	chmodSync,
	cpSync,
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { api } from "../../harness/client.ts";
import { ok } from "../../harness/expect.ts";
import { type Person, person } from "../../harness/fixtures.ts";
import { type Server, startServer } from "../../harness.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const MAIN = join(ROOT, "packages/svc/src/main.ts");
const PAGE = readFileSync(join(ROOT, "packages/plugin-sdk/README.md"), "utf8");
const [, CHAPTER = ""] = /^## From nothing to an installed engine\n(.*?)^## /ms.exec(PAGE) ?? [];

let scratch: string;
let plugins_dir: string;
let server: Server;
let admin: Person;

before(async () => {
	scratch = await mkdtemp(join(tmpdir(), "svc-engine-install-"));
	plugins_dir = join(scratch, "data", "plugins.d");
	mkdirSync(dirname(plugins_dir));
	server = await startServer({ env: { SVC_PLUGINS_DIR: plugins_dir } });
	admin = await person(api(server), "ada");
	ok(await api(server).post("/realms", { slug: "shop", name: "Shop" }, { token: admin.token }), 201);
});
after(async () => {
	await server.close();
	await rm(scratch, { recursive: true });
});

/** Runs a line of the page in a folder, as a person would. */
function shell(line: string, cwd: string, variables: Record<string, string> = {}) {
	const script = `npx() { shift; "${process.execPath}" "${MAIN}" "$@"; }\n${line}`;
	const cacert = join(server.data, "tls.crt");
	const env = { PATH: "/usr/bin:/bin", HOME: scratch, SVC_ADDRESS: server.url, SVC_CACERT: cacert, ...variables };
	const { status, stdout, stderr } = spawnSync("sh", ["-c", script], {
		cwd,
		env: { ...env, SVC_TOKEN: admin.token, SVC_PLUGINS_DIR: plugins_dir },
		encoding: "utf8",
		timeout: 300_000,
	});
	return { status, stdout, stderr };
}

/** Commands of the page, each with its expected lines; `…` stands for one or more lines, or for the rest of a line. */
function commandsOf(chapter: string): [command: string, lines: string[]][] {
	const blocks = [...chapter.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = ""]) => block);
	return blocks.flatMap((block) =>
		block.split(/^\$ /m).flatMap((part): [string, string[]][] => {
			const [command = "", ...lines] = part.trimEnd().split("\n");
			return command === "" ? [] : [[command, lines]];
		}),
	);
}

const shapeOf = (lines: readonly string[]) =>
	new RegExp(
		`^${lines.map((line) => (line === "…" ? "[^]*" : `${RegExp.escape(line).replace(/…$/, ".*")}\\n`)).join("")}$`,
	);

test("somebody who does what the page says has an engine in the end, and sees what the page shows", async () => {
	const commands = commandsOf(CHAPTER);
	assert.equal(commands.length, 6);
	let cwd = scratch;
	for (const [command, lines] of commands) {
		// "Restart the server, and the engine is there".
		if (command.includes("engine list")) await server.restart();
		const { status, stdout, stderr } = shell(command, cwd);
		assert.equal(status, 0, `${command}\n${stderr}`);
		assert.match(stdout, shapeOf(lines), command);
		if (command.startsWith("cd ")) cwd = join(cwd, command.slice("cd ".length));
	}
});

let folder: string;

/** Numbers the folders, each with the example in sh. */
let counter = 0;
beforeEach(() => {
	counter += 1;
	folder = join(scratch, `engine-${counter}`);
	cpSync(join(ROOT, "packages/plugin-sdk/examples/sh"), folder, { recursive: true });
	const file = join(folder, "plugin.json");
	const named = (text: string) => text.replace(/"name": ?"voucher"/, `"name":"engine-${counter}"`);
	writeFileSync(file, named(readFileSync(file, "utf8")));
	writeFileSync(join(folder, "voucher.sh"), named(readFileSync(join(folder, "voucher.sh"), "utf8")));
});

const install = (options = "") => shell(`npx svc engine install . ${options}`, folder);
const home = () => join(plugins_dir, `engine-${counter}`);
const installed = () => JSON.parse(readFileSync(join(home(), "plugin.json"), "utf8"));

test("what lies there is the program under its hash, and nobody but root and its owner may write any of it", () => {
	assert.equal(install().status, 0);
	const { executable, sha256, name } = installed();
	assert.equal(name, `engine-${counter}`);
	assert.equal(
		createHash("sha256")
			.update(readFileSync(join(home(), executable)))
			.digest("hex"),
		sha256,
	);
	assert.deepEqual(new Set(readdirSync(home())), new Set([executable, "plugin.json"]));
	const modes = [plugins_dir, home(), join(home(), executable), join(home(), "plugin.json")];
	assert.deepEqual(
		modes.map((path) => (statSync(path).mode & 0o777).toString(8)),
		["755", "755", "555", "444"],
	);
});

test("another program is installed only with --yes, and the one before is gone then", () => {
	assert.equal(install().status, 0);
	const first = installed();
	assert.equal(install().status, 0, "the same program once more");
	appendFileSync(join(folder, "voucher.sh"), "\n# another\n");
	const { status, stderr } = install();
	assert.equal(status, 2);
	assert.match(stderr, /^svc: .*--yes\b/);
	assert.deepEqual(installed(), first);
	assert.equal(install("--yes").status, 0);
	assert.notEqual(installed().sha256, first.sha256);
	assert.deepEqual(new Set(readdirSync(home())), new Set([installed().executable, "plugin.json"]));
});

test("an engine that does not keep the contract is reported with what is wrong, and is installed only with --no-test", () => {
	const file = join(folder, "voucher.sh");
	writeFileSync(file, readFileSync(file, "utf8").replace("*) error 'unknown method'", "*) data '{}'"));
	const { status, stdout, stderr } = install();
	assert.deepEqual([status, stdout], [1, ""]);
	assert.match(stderr, /^not ok - .*\bunknown method\b.* To do: /);
	assert.match(stderr, /\nsvc: \S.*\nhint: \S/);
	assert.ok(!existsSync(home()));
	assert.equal(install("--no-test").status, 0);
	assert.ok(existsSync(home()));
});

const skip = process.getuid?.() === 0 ? false : "only root can";

test("root tries the engine as nobody", { skip }, () => {
	const file = join(folder, "voucher.sh");
	writeFileSync(file, readFileSync(file, "utf8").replace("\nexit 0", '\necho "as $(id -u):$(id -g):$(id -G)" >&2'));
	const { status, stderr } = install();
	assert.equal(status, 0, stderr);
	assert.match(stderr, /^(as 65534:65534:65534\n)+next: /);
});

const SERVICE = 65_534;

/** Makes a data directory of the service's account with these links, and a folder that only root may write to. */
function foreignData(links: Record<string, string>) {
	const data = join(scratch, `data-${counter}`);
	const treasure = join(scratch, `treasure-${counter}`);
	mkdirSync(treasure);
	mkdirSync(data);
	chmodSync(scratch, 0o755);
	for (const [path, target] of Object.entries(links)) {
		mkdirSync(join(data, dirname(path)), { recursive: true });
		symlinkSync(target.replace("TREASURE", treasure), join(data, path));
	}
	shell(`chown -hR ${SERVICE}:${SERVICE} ${data}`, scratch);
	return { data, treasure };
}

test("what root installs into the data directory of the service belongs to the service", { skip }, () => {
	const { data } = foreignData({});
	const to = `--no-test --plugins-dir ${join(data, "plugins.d")}`;
	for (const again of ["", "--yes"]) {
		const { status, stderr } = install(`${to} ${again}`);
		assert.equal(status, 0, stderr);
		appendFileSync(join(folder, "voucher.sh"), "\n# another\n");
	}
	const found = readdirSync(data, { recursive: true, encoding: "utf8" }).map((path) => lstatSync(join(data, path)));
	assert.equal(found.length, 4);
	for (const { uid, gid } of found) assert.deepEqual([uid, gid], [SERVICE, SERVICE]);
});

const LINKS: [what: string, links: (type: string) => Record<string, string>, code: number, message: RegExp][] = [
	["the folder of engines", () => ({ "plugins.d": "TREASURE" }), 1, /is a link/],
	["the engine's folder", (type) => ({ [`plugins.d/${type}`]: "TREASURE" }), 3, /\bmay not be changed\b/],
	[
		"a folder that is linked twice",
		(type) => ({ [`plugins.d/${type}`]: "../a", a: "TREASURE" }),
		3,
		/may not be changed/,
	],
];

for (const [what, links, code, message] of LINKS) {
	test(`root follows no link of the service's that stands for ${what}`, { skip }, () => {
		const { data, treasure } = foreignData(links(`engine-${counter}`));
		chmodSync(treasure, 0o711);
		const { status, stderr } = install(`--no-test --yes --plugins-dir ${join(data, "plugins.d")}`);
		assert.deepEqual([status, readdirSync(treasure), statSync(treasure).mode & 0o777], [code, [], 0o711]);
		assert.match(stderr, message);
		assert.match(stderr, /\nhint: .*\n$/);
	});
}

const REFUSED: [what: string, spoil: (folder: string) => void, message: RegExp][] = [
	["without plugin.json", () => shell("rm plugin.json", folder), /^svc: .*\bplugin\.json\b/],
	["that names no executable", () => change({ executable: undefined }), /^svc: plugin\.json\b.*\bexecutable\n/],
	["whose program is a link", () => shell("mv voucher.sh a; ln -s a voucher.sh", folder), /^svc: the executable\b/],
	["with the name of one that comes with the server", () => change({ name: "keyvalue" }), /\bbuilt-in\b/],
	["with a name that leaves the folder", () => change({ name: "../elsewhere" }), /^svc: plugin\.json: name\b/],
	["with a folder of engines that others may write", () => shell(`chmod 777 ${plugins_dir}`, folder), /\nhint: chmod/],
];

function change(changes: object): void {
	const file = join(folder, "plugin.json");
	writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...changes }));
}

for (const [what, spoil, message] of REFUSED) {
	test(`an engine ${what} is refused, and nothing changes`, (t) => {
		t.after(() => shell(`chmod 755 ${plugins_dir}`, folder));
		const before = readdirSync(plugins_dir);
		spoil(folder);
		const { status, stdout, stderr } = install("--no-test");
		assert.deepEqual([status, stdout], [1, ""]);
		assert.match(stderr, message);
		assert.deepEqual(readdirSync(plugins_dir), before);
	});
}

test("where no server's settings lead to a folder, it is asked for", () => {
	const { status, stderr } = shell("SVC_PLUGINS_DIR= SVC_CONFIG= npx svc engine install .", folder);
	assert.equal(status, 1);
	assert.match(stderr, /^svc: .*\nhint: .*--plugins-dir/s);
	assert.equal(install(`--plugins-dir ${join(scratch, "elsewhere")}`).status, 0);
	assert.ok(existsSync(join(scratch, "elsewhere", `engine-${counter}`, "plugin.json")));
});
