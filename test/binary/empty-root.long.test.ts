/* The single binary on an otherwise empty system: no Node, no packages, no shell, no /proc, no /tmp. */
import assert from "node:assert/strict";
import { type ChildProcess, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { exchange } from "../../scripts/bench/exchange.ts";
import { type EmptyRoot, makeEmptyRoot, skipWithoutRoot } from "../../scripts/binary/empty-root.ts";
import { type Built, buildBinary, skipWithoutStrip } from "./built.ts";

const options = { skip: skipWithoutStrip || skipWithoutRoot };
const PASSWORD = "a password of the tests\n";
const READ = "secret get DB_URL --realm shop --env prod";

let built: Built;
let root: EmptyRoot;
let server: ChildProcess;
let address = "";
/** The folder of the native libraries. */
let libraries = "";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (options.skip !== false) return;
	built = ends.use(await buildBinary());
	root = makeEmptyRoot(built.file);
	ends.defer(root.remove);
	libraries = join(root.folder, "tmp/svc-0");
	await start();
	ends.defer(stop);
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
	server = root.start(["server"], { SVC_LISTEN: "127.0.0.1:0", ...env });
	let written = "";
	server.stderr?.setEncoding("utf8").on("data", (more: string) => {
		written += more;
	});
	for await (const more of server.stdout?.setEncoding("utf8") ?? []) {
		written += more as string;
		address = /listening on (https:\S+)/.exec(written)?.[1] ?? "";
		if (address !== "") return;
	}
	throw new Error(`the server ended: ${written}`);
}

async function stop(): Promise<void> {
	const closed = once(server, "close");
	server.kill("SIGTERM");
	await closed;
	assert.equal(server.exitCode, 0);
}

/** Runs a command of the client in the root, which must succeed. */
async function svc(line: string, stdin?: string): Promise<string> {
	// Nothing in the root says where localhost is.
	const SVC_ADDRESS = address.replace("localhost", "127.0.0.1");
	const env = { HOME: "/ada", SVC_ADDRESS, SVC_CACERT: "/data/tls.crt" };
	const { code, stdout, stderr } = await root.run(line.split(" "), env, stdin);
	assert.equal(code, 0, `svc ${line}: ${stdout}${stderr}`);
	return stdout;
}

const sha256 = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

test("it starts, and a secret can be stored and read", options, async () => {
	await svc("register ada@example.test --password-stdin", PASSWORD);
	await svc("login ada@example.test --password-stdin", PASSWORD);
	await svc("realm create shop");
	await svc("secret set DB_URL --realm shop --env prod", "postgres://db\n");
	assert.equal(await svc(READ), "postgres://db\n");
});

test("its health names the version, the commit and its time, though there is no checkout", options, async () => {
	const health = JSON.parse(await svc("health --json"));
	assert.equal(health.status, "healthy");
	assert.match(health.commit, /^[0-9a-f]{7,40}$/);
	assert.ok(!Number.isNaN(Date.parse(health.built)), health.built);
});

test("browsers get its large files as they are in their packages", options, async () => {
	const packages = createRequire(join(import.meta.dirname, "../../packages/server/package.json"));
	for (const name of ["swagger-ui-bundle.js", "swagger-ui.css"]) {
		const { body } = await exchange(address, { method: "GET", path: `/docs/${name}` });
		assert.ok(body === readFileSync(packages.resolve(`swagger-ui-dist/${name}`), "utf8"), name);
	}
});

test("an engine of ours is the same file once more", options, async () => {
	await svc("engine set totp --allow-realm *");
	const made = await svc(
		"engine generate totp --realm shop --param issuer=svc --param account=ada --param account_name=ada --json",
	);
	assert.match(made, /otpauth:/);
});

test("an engine of ours opens only what it is allowed to", options, async () => {
	writeFileSync(join(root.folder, "config"), "{}");
	const env = { SVC_ORCH_KUBECONFIG: "/config" };
	const ping = '{"method":"ping","params":{}}\n';
	const held = await root.run(["plugin", "containerorch"], { ...env, NODE_OPTIONS: "--permission --allow-net" }, ping);
	assert.match(held.stderr, /ERR_ACCESS_DENIED/);
	const free = await root.run(["plugin", "containerorch"], env, ping);
	assert.match(free.stderr, /\bcurrent-context\b/);
});

test("an engine of ours writes nothing but answers under the server's flags", options, async () => {
	const env = { NODE_OPTIONS: "--disallow-code-generation-from-strings" };
	const { stdout, stderr } = await root.run(["plugin", "totp"], env, '{"method":"ping","params":{}}\n');
	assert.match(stdout, /^\{"data":\{.*\}\}\n$/);
	assert.equal(stderr, "");
});

test("nothing in it says where it was made", options, () => {
	const bytes = readFileSync(built.file);
	for (const folder of [dirname(built.file), resolve(import.meta.dirname, "../..")]) {
		const at = bytes.indexOf(folder);
		assert.equal(at, -1, bytes.toString("latin1", at, at + 200));
	}
});

test("no argument makes it load code, and the server does not start where the environment might", options, async () => {
	writeFileSync(join(root.folder, "code.cjs"), 'process.stdout.write("loaded")');
	const { stdout } = await root.run(["--version", "--node-options=--require=/code.cjs", "--require=/code.cjs"]);
	assert.match(stdout, /^[\d.]+\n$/);
	const { code, stderr } = await root.run(["server"], { NODE_OPTIONS: "--no-warnings" });
	assert.equal(code, 78);
	assert.match(stderr, /^svc: NODE_OPTIONS\b/);
});

test("its libraries lie in a private folder of the user, under their hashes", options, () => {
	assert.equal(statSync(libraries).mode & 0o777, 0o700);
	const files = readdirSync(libraries);
	assert.equal(files.length, 2);
	for (const file of files) assert.ok(file.startsWith(`${sha256(join(libraries, file))}-`), file);
});

test("as a service it keeps its libraries in the folder that systemd made for it", options, async () => {
	mkdirSync(join(root.folder, "cache"), { mode: 0o755 });
	const { stderr } = await root.run(["server"], { CACHE_DIRECTORY: "/cache:/cache/more", SVC_DATA_DIR: "/data" });
	assert.match(stderr, /\bdata_dir\n/);
	const folder = join(root.folder, "cache/native");
	assert.deepEqual([statSync(folder).mode & 0o777, readdirSync(folder).length], [0o700, 1]);
});

test("it takes no library from a folder that others can write to", options, async () => {
	const folder = join(root.folder, "shared/svc");
	mkdirSync(folder, { recursive: true });
	chmodSync(folder, 0o777);
	const { code, stderr } = await root.run(["server"], { XDG_CACHE_HOME: "/shared" });
	assert.deepEqual([code, readdirSync(folder)], [73, []]);
	assert.match(stderr, /^svc: \/shared\/svc .*\bXDG_CACHE_HOME\b/);
});

test("where nothing can be started from, it says so", options, () => {
	mkdirSync(join(root.folder, "noexec"));
	const script = 'mount -t tmpfs -o noexec tmpfs "$0/noexec" && exec chroot "$0" /svc server';
	const args = ["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, root.folder];
	const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", XDG_CACHE_HOME: "/noexec", SVC_DATA_DIR: "/other" };
	const { status, stderr } = spawnSync("unshare", args, { env, encoding: "utf8", timeout: 300_000 });
	assert.match(stderr, /^svc: \/noexec\/svc .*\(noexec\).*\bXDG_CACHE_HOME\b/);
	assert.equal(status, 73);
});

test("it ends on SIGTERM, and starts although something else lies in a library's place", options, async () => {
	await stop();
	for (const file of readdirSync(libraries).map((name) => join(libraries, name))) {
		rmSync(file);
		writeFileSync(file, "other bytes", { mode: 0o700 });
	}
	await start();
	assert.match(await svc("health"), /healthy/);
	const replaced = readdirSync(libraries).filter((name) => name.startsWith(sha256(join(libraries, name))));
	assert.ok(
		replaced.some((name) => basename(name).endsWith("linux-x64.node")),
		String(replaced),
	);
});

test("a program runs with its secrets, and what was backed up is read after everything was lost", options, async () => {
	await svc("login ada@example.test --password-stdin", PASSWORD);
	// Nothing in the root says where localhost is.
	const SVC_ADDRESS = address.replace("localhost", "127.0.0.1");
	const env = { HOME: "/ada", SVC_ADDRESS, SVC_CACERT: "/data/tls.crt" };
	const run = ["run", "--realm", "shop", "--env", "prod", "--", "/svc", "no-such-command"];
	assert.equal((await root.run(run, env)).code, 2, "the program's own");
	const { name } = JSON.parse(await svc("backup create --json"));
	await svc(`backup download ${name} --output /kept.db`);
	await stop();
	renameSync(join(root.folder, "data/master.key"), join(root.folder, "kept.key"));
	rmSync(join(root.folder, "data"), { recursive: true });
	const kept = { SVC_MASTER_KEY_FILE: "/kept.key" };
	const restored = await root.run(["restore", "/kept.db", "--yes"], kept);
	assert.equal(restored.code, 0, restored.stderr);
	await start(kept);
	await svc("login ada@example.test --password-stdin", PASSWORD);
	assert.equal(await svc(READ), "postgres://db\n");
	await svc("lease resume");
});
