import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { runCli } from "@svc/cli";
import { fakeIo, type Outcome, temporaryFolder } from "../../../cli/src/testing/terminal.ts";
import { LOCAL_COMMANDS } from "../local-commands.ts";

const TOOLS = ["systemd-analyze", "systemd-creds", "systemd-sysusers", "systemctl"];
const missing = TOOLS.find((tool) => spawnSync(tool, ["--version"]).status !== 0);
const skip = missing === undefined ? false : `${missing} is not installed: apt-get install systemd`;

const UNIT = "etc/systemd/system/svc.service";
const SEALED = "etc/svc/master-key.cred";
const KEY = `${"0123456789abcdef".repeat(4)}\n`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let root: string;
/** Stands for the executable. */
let program: string;
/** Searched before the system's own tools. */
let tools: string;
let turn = 0;

before(async () => {
	folder = await temporaryFolder();
	program = join(folder.path, "svc-1");
	await writeFile(program, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
});
after(() => folder[Symbol.asyncDispose]());
beforeEach(async () => {
	root = join(folder.path, `root-${++turn}`);
	tools = join(folder.path, `tools-${turn}`);
	await Promise.all([mkdir(root), mkdir(tools)]);
});

async function svc(...words: string[]): Promise<Outcome> {
	const { io, outcome } = fakeIo({ env: { PATH: tools } });
	return outcome(await runCli(words, io, LOCAL_COMMANDS));
}

const install = (...more: string[]) => svc("install", "--root", root, "--program", program, ...more);

async function installed(...more: string[]): Promise<Outcome> {
	const outcome = await install(...more);
	assert.equal(outcome.code, 0, outcome.stderr);
	return outcome;
}

const read = (path: string) => readFile(join(root, path), "utf8");

async function put(path: string, content: string): Promise<void> {
	await mkdir(dirname(join(root, path)), { recursive: true });
	await writeFile(join(root, path), content);
}

/** Every file under the root except those of the account, with its mode and content. */
async function everything(): Promise<Record<string, string>> {
	const found: Record<string, string> = {};
	for (const entry of await readdir(root, { withFileTypes: true, recursive: true })) {
		const path = join(entry.parentPath, entry.name);
		if (!entry.isFile() || /^\.|shadow|group/.test(entry.name)) continue;
		const mode = ((await stat(path)).mode & 0o777).toString(8);
		found[path.slice(root.length + 1)] = `${mode} ${await readFile(path, "latin1")}`;
	}
	return found;
}

function decrypted(): string {
	const env = { PATH: "/usr/bin:/bin", SYSTEMD_CREDENTIAL_SECRET: join(root, "var/lib/systemd/credential.secret") };
	const args = ["decrypt", "--name=master-key", join(root, SEALED), "-"];
	return spawnSync("systemd-creds", args, { encoding: "utf8", env }).stdout;
}

test("svc install makes program, account, settings, key and unit, each with its mode", { skip }, async () => {
	await installed();
	const modes = Object.entries(await everything()).map(([path, text]) => `${text.split(" ")[0]} ${path}`);
	assert.deepEqual(
		modes.toSorted((a, b) => a.localeCompare(b)),
		[
			"400 etc/svc/master-key.cred",
			"400 var/lib/systemd/credential.secret",
			"644 etc/passwd",
			"644 etc/svc/svc.toml",
			"644 etc/systemd/system/svc.service",
			"644 etc/sysusers.d/svc.conf",
			"755 usr/local/bin/svc",
		],
	);
	assert.match(await read("etc/passwd"), /^svc:.*:\/var\/lib\/svc:\/usr\/sbin\/nologin$/m);
	assert.match(await read("etc/svc/svc.toml"), /^data_dir = "\/var\/lib\/svc"\nlisten = "127.0.0.1:8443"$/m);
	assert.match(await read("etc/svc/svc.toml"), /^\[registration\]\n.*\nmode = "admin"$/m);
	assert.equal(await read("usr/local/bin/svc"), await readFile(program, "utf8"));
	assert.ok(
		(await stat(join(root, "etc/systemd/system/multi-user.target.wants")).catch(() => undefined)) !== undefined,
	);
});

test("svc install writes a unit that systemd accepts, and whose exposure is at most 1.2", { skip }, async () => {
	await installed();
	const judged = ["security", "--offline=yes", "--threshold=12", `--root=${root}`, "svc.service"];
	const security = spawnSync("systemd-analyze", judged, { encoding: "utf8" });
	assert.equal(security.status, 0, security.stdout);
	const unit = await read(UNIT);
	assert.doesNotMatch(unit, /MemoryDenyWriteExecute/, "V8 writes code");
	const copy = join(folder.path, "svc.service");
	await writeFile(copy, unit.replace("/usr/local/bin/svc", process.execPath));
	const verified = spawnSync("systemd-analyze", ["verify", copy], { encoding: "utf8" });
	assert.deepEqual([verified.stderr, verified.status], ["", 0]);
});

test("svc install keeps the master key nowhere but encrypted, and in the copy that was asked for", {
	skip,
}, async () => {
	const copy = join(folder.path, "copy.txt");
	const { stdout, stderr } = await installed("--master-key-copy", copy);
	assert.ok(stderr.includes(`${copy}\n`), stderr);
	const key = await readFile(copy, "utf8");
	assert.match(key, /^[0-9a-f]{64}\n$/);
	assert.equal((await stat(copy)).mode & 0o777, 0o600);
	assert.equal(decrypted(), key);
	for (const [path, text] of Object.entries(await everything())) assert.ok(!text.includes(key.trim()), path);
	assert.match(await read(UNIT), /^LoadCredentialEncrypted=master-key:\/etc\/svc\/master-key\.cred$/m);
	assert.equal(JSON.parse((await installed("--json")).stdout).master_key.encrypted, true);
	assert.ok(![stdout, stderr].some((text) => text.includes(key.trim())));
	assert.equal((await install("--master-key-copy", copy)).code, 2, "it never replaces a copy");
});

test("svc install keeps the key in a file of mode 0400 where systemd cannot encrypt it", { skip }, async () => {
	await writeFile(join(tools, "systemd-creds"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
	await installed();
	assert.match(await read("etc/svc/master-key"), /^[0-9a-f]{64}\n$/);
	assert.equal((await stat(join(root, "etc/svc/master-key"))).mode & 0o777, 0o400);
	assert.match(await read(UNIT), /^LoadCredential=master-key:\/etc\/svc\/master-key$/m);
});

test("svc install done again it changes nothing, and keeps settings and key", { skip }, async () => {
	assert.match((await installed()).stderr, /\bmaster key\b.*\nnext: {2}svc init/);
	const first = await everything();
	assert.match((await installed()).stderr, /^\n`svc health`.*\n$/);
	assert.deepEqual(await everything(), first);
	await chmod(join(root, "usr/local/bin/svc"), 0o644);
	await chmod(join(root, UNIT), 0o666);
	await installed();
	assert.deepEqual(await everything(), first, "modes, too");
	await put("etc/svc/svc.toml", 'data_dir = "/srv"\n');
	await installed();
	assert.equal(await read("etc/svc/svc.toml"), 'data_dir = "/srv"\n');
	assert.deepEqual((await install("--listen", "0.0.0.0:8443")).code, 2);
	await put("var/lib/svc/setup-code", "not used yet\n");
	assert.match((await installed()).stderr, /^\nnext: {2}svc init/);
});

test("svc install done again with a newer program it replaces program and unit only", { skip }, async () => {
	await installed("--listen", "0.0.0.0:9443");
	const { [SEALED]: key, "etc/svc/svc.toml": settings } = await everything();
	await put(UNIT, (await read(UNIT)).replace("WatchdogSec=120", "WatchdogSec=1"));
	const newer = join(folder.path, "svc-2");
	await writeFile(newer, "#!/bin/sh\nexit 2\n");
	await installed("--program", newer);
	assert.equal(await read("usr/local/bin/svc"), "#!/bin/sh\nexit 2\n");
	assert.match(await read(UNIT), /WatchdogSec=120/);
	const now = await everything();
	assert.deepEqual([now[SEALED], now["etc/svc/svc.toml"]], [key, settings]);
	assert.match(String(settings), /listen = "0\.0\.0\.0:9443"/);
});

test("svc install done again it keeps prefix and account, and refuses others", { skip }, async () => {
	await installed("--user", "svc-server", "--prefix", "/opt/svc");
	const first = await everything();
	const newer = join(folder.path, "svc-3");
	await writeFile(newer, "#!/bin/sh\nexit 3\n", { mode: 0o755 });
	await installed("--program", newer);
	const program = `755 ${await readFile(newer, "latin1")}`;
	assert.deepEqual(await everything(), { ...first, "opt/svc/bin/svc": program });
	for (const [option, was, other] of [
		["--user", "svc-server", "svc"],
		["--prefix", "/opt/svc", "/usr/local"],
	] as const) {
		const { code, stderr } = await install(option, other);
		assert.equal(code, 2);
		assert.match(stderr, new RegExp(`${option} ${was} .*\nhint: .*${option}\\b`));
		await installed(option, was);
	}
	assert.equal((await svc("uninstall", "--root", root, "--yes")).code, 0);
	assert.deepEqual(
		Object.keys(await everything()).filter((path) => /bin\/svc|svc\.(conf|service)/.test(path)),
		[],
	);
});

test("svc install takes no port that the service's account may not listen on", { skip }, async () => {
	const refused = await install("--listen", "0.0.0.0:1023");
	assert.deepEqual([refused.code, await readdir(root)], [2, []]);
	assert.match(refused.stderr, /\b1023\b.*\nhint: .*\b1024\b.*\bsysctl\b/);
	await put("proc/sys/net/ipv4/ip_unprivileged_port_start", "443\n");
	assert.match((await install("--listen", "0.0.0.0:442")).stderr, /\b443\b/);
	await installed("--listen", "0.0.0.0:443");
});

test("svc install takes the key of data that is there already, and makes no other", { skip }, async () => {
	await put("var/lib/svc/svc.db", "data");
	const refused = await install();
	assert.deepEqual([refused.code, (await everything())[SEALED]], [1, undefined]);
	assert.match(refused.stderr, /\nhint: .*--master-key-from\b/);
	const file = join(folder.path, "master.key");
	await writeFile(file, KEY, { mode: 0o400 });
	const link = join(folder.path, "link");
	await symlink(file, link);
	assert.match((await install("--master-key-from", link)).stderr, /--master-key-from\b/);
	await installed("--master-key-from", file);
	assert.equal(decrypted(), KEY);
	await rm(file);
	await writeFile(file, "no key");
	assert.equal((await install("--master-key-from", file)).code, 2, "an installed key stays");
});

test("svc install shows with --dry-run what it would do, and does nothing", { skip }, async () => {
	const { stdout, code } = await install("--dry-run");
	assert.equal(code, 0);
	assert.deepEqual(await readdir(root), []);
	for (const text of [/^copy .* \(0755\)$/m, /^write .*svc\.toml \(0644\)$/m, /mode = "admin"/, /NoNewPrivileges=yes/])
		assert.match(stdout, text);
	assert.match(stdout, /^write .*master-key\.cred \(0400\)\n {4}\(the master key, encrypted for this machine\)$/m);
	assert.doesNotMatch(stdout, /[0-9a-f]{64}/);
	const { stdout: live } = await svc("install", "--program", program, "--dry-run");
	assert.match(
		live,
		/^run systemctl daemon-reload\nrun systemctl enable svc\.service\nrun systemctl restart svc\.service$/m,
	);
});

test("svc install leaves alone what is not its own", { skip }, async () => {
	await put(UNIT, "[Service]\nExecStart=/bin/true\n");
	assert.match((await install()).stderr, /\bsvc\.service\b/);
	assert.equal((await svc("uninstall", "--root", root, "--yes")).code, 4);
	await rm(join(root, UNIT));
	await put("etc/passwd", "svc:x:1000:1000:Some Body:/srv/somebody:/bin/sh\n");
	assert.match((await install()).stderr, /\baccount svc\b/);
	await installed("--user", "svc-server");
	assert.match(await read(UNIT), /^User=svc-server$/m);
});

test("svc install is undone by svc uninstall, but for data, key and settings", { skip }, async () => {
	await installed();
	await put("var/lib/svc/svc.db", "data");
	assert.equal((await svc("uninstall", "--root", root)).code, 2, "it asks first");
	const { code, stdout } = await svc("uninstall", "--root", root, "--yes");
	assert.equal(code, 0);
	assert.match(stdout, /^left: \/var\/lib\/svc, \/etc\/svc, .*\baccount\b/m);
	assert.deepEqual(
		Object.keys(await everything()).toSorted((a, b) => a.localeCompare(b)),
		["etc/passwd", SEALED, "etc/svc/svc.toml", "var/lib/svc/svc.db", "var/lib/systemd/credential.secret"],
	);
});

const REFUSED: [words: string[], message: RegExp][] = [
	[["--prefix", "/usr/lo cal"], /--prefix\b/],
	[["--prefix", "usr"], /--prefix\b/],
	[["--prefix", "/tmp/svc"], /\bcannot read \/home\b/],
	[["--prefix", "/root"], /\bcannot read\b.*\nhint: .*--prefix\b/],
	[["--user", "root"], /--user\b/],
	[["--user", "a%b"], /--user\b/],
	[["--listen", '127.0.0.1:1"\nx="'], /--listen\b/],
	[["--listen", "127.0.0.1:0"], /--listen\b/],
	[["--listen", "127.0.0.1:65536"], /--listen\b/],
	[["--program", "/nowhere/svc"], /--program\b/],
];

for (const [words, message] of REFUSED) {
	test(`svc install refuses ${JSON.stringify(words)}`, async () => {
		const { code, stderr } = await install(...words);
		assert.equal(code, 2);
		assert.match(stderr, message);
	});
}

test("svc install does not install sources", async () => {
	const { code, stderr } = await svc("install", "--root", root);
	assert.equal(code, 2);
	assert.match(stderr, /\nhint: .*\bnpm run binary\b/);
});
