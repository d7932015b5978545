import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { api } from "./harness/client.ts";
import { eventually } from "./harness/engine-world.ts";
import { ok } from "./harness/expect.ts";
import { type Server, startServer } from "./harness.ts";

const PEER = fileURLToPath(new URL("./peers/notify_socket.py", import.meta.url));
const missing = ["systemd-notify", "python3"].find((tool) => spawnSync(tool, ["--version"]).status !== 0);
const skip = missing === undefined ? false : `${missing} is not installed: apt-get install systemd python3`;

let folder: string;
let systemd: ChildProcess | undefined;
const messages: string[] = [];
let server: Server;

before(async () => {
	folder = await mkdtemp(join(tmpdir(), "svc-service-"));
	const socket = join(folder, "notify");
	if (!skip) {
		systemd = spawn("python3", [PEER, socket], { stdio: ["ignore", "pipe", "inherit"] });
		assert.ok(systemd.stdout);
		createInterface(systemd.stdout).on("line", (line) => messages.push(JSON.parse(line)));
		await received(/^listening$/);
	}
	server = await startServer({ env: skip ? {} : { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "300000" } });
});
after(async () => {
	await server.close();
	if (systemd !== undefined) {
		systemd.kill();
		if (systemd.exitCode === null) await once(systemd, "exit");
	}
	await rm(folder, { recursive: true, force: true });
});

/** Waits for one more such message to systemd, and returns it. */
async function received(pattern: RegExp, before = 0): Promise<string> {
	const found = () => messages.filter((message) => pattern.test(message))[before];
	await eventually(`${pattern} after ${before} others`, () => found() !== undefined);
	return found() ?? assert.fail();
}

const count = (pattern: RegExp) => messages.filter((message) => pattern.test(message)).length;

test("systemd is notified that the service is ready, and where", { skip }, async () => {
	assert.equal(await received(/READY/), `READY=1\nSTATUS=listening on ${server.url}`);
});

test("systemd is notified again and again that the service is alive", { skip }, async () => {
	await received(/^WATCHDOG=1$/, 2);
});

test("systemd is notified of a reload, and of its end", { skip }, async () => {
	const ready = count(/^READY=1$/);
	process.kill(server.pid, "SIGHUP");
	await received(/^RELOADING=1$/);
	await received(/^READY=1$/, ready);
});

test("a storm of signals ends nothing, opens no debugger and writes no report", async () => {
	const files = await readdir(server.data);
	for (let turn = 0; turn < 50; turn++) {
		for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP", "SIGPIPE"] as const) process.kill(server.pid, signal);
	}
	ok(await api(server).get("/health"));
	assert.doesNotMatch(server.stderr(), /Debugger|inspector/i);
	assert.deepEqual(await readdir(server.data), files);
	ok(await api(server).get("/health"));
});

test("systemd is notified that the service ends", { skip }, async () => {
	await server.stop();
	await received(/^STOPPING=1$/);
});
