/* The container image: read with skopeo, and started from its unpacked root as its user, where nothing but its data folder can be written to. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
	chmodSync,
	chownSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readBuild } from "../../packages/server/src/health/build.ts";
import { makeExecutable } from "../../scripts/binary/executable.ts";
import { makeImage } from "../../scripts/image/image.ts";
import { skipWithoutStrip } from "./built.ts";

const USER = 65532;
const skipWithoutSkopeo =
	spawnSync("skopeo", ["--version"]).error === undefined ? false : "skopeo is not installed: apt-get install skopeo";
const skipWithoutChroot = process.geteuid?.() === 0 ? false : "only root can start a program in another root";
const options = { skip: skipWithoutStrip || skipWithoutSkopeo || skipWithoutChroot };

interface Config {
	User: string;
	Env: string[];
	Entrypoint: string[];
	Cmd: string[];
	Volumes: Record<string, object>;
	Healthcheck: { Test: string[] };
}

const folder = mkdtempSync(join(tmpdir(), "svc-image-"));
const root = join(folder, "root");
let file = "";
let digest = "";
let config: Config;

after(() => rmSync(folder, { recursive: true, force: true }));
before(async () => {
	if (options.skip !== false) return;
	({ file, digest } = await buildImage("first"));
	const layout = join(folder, "layout");
	execFileSync("skopeo", ["copy", "--quiet", `oci-archive:${file}`, `dir:${layout}`]);
	const manifest = JSON.parse(readFileSync(join(layout, "manifest.json"), "utf8"));
	({ config } = JSON.parse(readFileSync(join(layout, hashOf(manifest.config)), "utf8")));
	mkdirSync(root, { mode: 0o755 });
	for (const layer of manifest.layers) execFileSync("tar", ["-xpzf", join(layout, hashOf(layer)), "-C", root]);
});

const hashOf = ({ digest }: { digest: string }) => digest.replace("sha256:", "");

async function buildImage(name: string): Promise<{ file: string; digest: string }> {
	const target = join(folder, name);
	mkdirSync(target);
	return makeImage(await makeExecutable(target, { isRepeatable: true }), readBuild(), target);
}

/** Starts a command in the image, as a container would. */
function start(words: readonly string[], env: Readonly<Record<string, string>> = {}, unpacked = root): ChildProcess {
	const variables = { ...Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s, 2))), ...env };
	const args = [`--userspec=${USER}:${USER}`, unpacked, ...words];
	return spawn("/usr/sbin/chroot", args, { env: variables, stdio: ["ignore", "pipe", "pipe"] });
}

async function run(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<[number | null, string]> {
	const child = start(words, env);
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream?.setEncoding("utf8").on("data", (more: string) => {
			output += more;
		});
	await once(child, "close");
	return [child.exitCode, output];
}

/** Starts the server of the image, and waits until it listens. */
async function startServer(
	env: Readonly<Record<string, string>>,
	unpacked = root,
): Promise<[ChildProcess, address: string]> {
	const server = start([...config.Entrypoint, ...config.Cmd], env, unpacked);
	let output = "";
	server.stderr?.setEncoding("utf8").on("data", (more: string) => {
		output += more;
	});
	for await (const more of server.stdout?.setEncoding("utf8") ?? []) {
		output += more as string;
		const address = /listening on (https:\S+)/.exec(output)?.[1];
		if (address !== undefined) return [server, address];
	}
	throw new Error(`the server ended: ${output}`);
}

test("a program that knows images reads its configuration", options, () => {
	const read = JSON.parse(execFileSync("skopeo", ["inspect", `oci-archive:${file}`], { encoding: "utf8" }));
	assert.equal(read.Digest, digest);
	const loaded = `docker-archive:${file}:svc:${readBuild().version}`;
	assert.deepEqual(JSON.parse(execFileSync("skopeo", ["inspect", loaded], { encoding: "utf8" })).Labels, read.Labels);
	assert.equal(read.Labels["org.opencontainers.image.revision"], readBuild().commit);
	assert.equal(config.User, `${USER}:${USER}`);
	assert.deepEqual(Object.keys(config.Volumes), ["/data"]);
});

test("the same commit gives the same digest", options, async () => {
	const second = await buildImage("second");
	assert.equal(second.digest, digest);
	assert.ok(readFileSync(second.file).equals(readFileSync(file)));
});

test("its user can write to /data alone", options, () => {
	const names = readdirSync(root, { recursive: true, encoding: "utf8" });
	assert.ok(names.length > 20, names.join(" "));
	const writable = [".", ...names].filter((name) => {
		const { uid, gid, mode } = statSync(join(root, name));
		return uid === USER || gid === USER || (mode & 0o002) !== 0;
	});
	assert.deepEqual(writable, ["data"]);
	assert.equal(statSync(join(root, "data")).mode & 0o777, 0o700);
});

test("it starts without /tmp, is healthy for its own check, and ends with SIGTERM", options, async () => {
	const [server, address] = await startServer({ SVC_LISTEN: "127.0.0.1:0" });
	try {
		const [, ...check] = config.Healthcheck.Test;
		const [code, output] = await run(check, { SVC_ADDRESS: address.replace("localhost", "127.0.0.1") });
		assert.equal(code, 0, output);
		assert.match(output, /status +healthy/);
	} finally {
		const closed = once(server, "close");
		server.kill("SIGTERM");
		await closed;
	}
	assert.equal(server.exitCode, 0);
	const [code] = await run(config.Healthcheck.Test.slice(1));
	assert.notEqual(code, 0);
});

test("it starts where Kubernetes gives it a volume of root, and a file for the master key", options, async () => {
	const pod = join(folder, "pod");
	cpSync(root, pod, { recursive: true });
	chownSync(join(pod, "data"), 0, USER);
	chmodSync(join(pod, "data"), 0o2770);
	mkdirSync(join(pod, "run/credentials"), { recursive: true });
	const key = join(pod, "run/credentials/master-key");
	writeFileSync(key, randomBytes(32), { mode: 0o440 });
	chownSync(key, 0, USER);
	const env = { SVC_LISTEN: "127.0.0.1:0", SVC_DATA_DIR: "/data/svc", CREDENTIALS_DIRECTORY: "/run/credentials" };
	const [server] = await startServer(env, pod);
	const closed = once(server, "close");
	server.kill("SIGTERM");
	await closed;
	assert.equal(server.exitCode, 0);
	assert.ok(!existsSync(join(pod, "data/svc/master.key")));
});

test("its native libraries are not taken from a folder where others can write", options, async () => {
	const other = join(folder, "other");
	cpSync(root, other, { recursive: true });
	const lib = join(other, "usr/local/lib/svc");
	execFileSync("chmod", ["o+w", lib]);
	const args = [`--userspec=${USER}:${USER}`, other, "/usr/local/bin/svc", "server"];
	const { status, stderr } = spawnSync("/usr/sbin/chroot", args, { env: { SVC_DATA_DIR: "/data" }, encoding: "utf8" });
	assert.equal(status, 73, stderr);
});
