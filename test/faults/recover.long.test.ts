import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { runLocal } from "../backup/local.ts";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { login, type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const MAIN = resolve(import.meta.dirname, "../../packages/svc/src/bin.mjs");
const KILLS = 24;

let server: Server;
let root: Person;

before(async () => {
	server = await startServer();
	root = await person(api(server), "root");
	await server.stop();
});
after(() => server.close());

function start() {
	const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: server.data, SVC_DATA_DIR: server.data };
	return spawn(process.execPath, [MAIN, "recover", root.email, "--yes"], { env, stdio: "ignore" });
}

test("a recovery that was killed at any moment leaves a sound database, and can be run again", async () => {
	const began = performance.now();
	const [code] = await once(start(), "exit");
	assert.equal(code, 0);
	const whole_ms = performance.now() - began;
	let killed = 0;
	for (let kill = 1; kill <= KILLS; kill++) {
		const child = start();
		const ended = once(child, "exit");
		await Promise.race([ended, delay((whole_ms * kill) / KILLS)]);
		child.kill("SIGKILL");
		if ((await ended)[1] === "SIGKILL") killed++;
		const { stdout, stderr } = await runLocal(server.data, ["adopt", "--look", "--json"]);
		assert.equal(JSON.parse(stdout).status, "sound", `killed after ${kill}/${KILLS}: ${stderr}`);
	}
	assert.ok(killed > KILLS / 2, `${killed}`);
	const { stdout } = await runLocal(server.data, ["recover", root.email, "--yes"]);
	await server.restart();
	const password = "a password that was set anew";
	ok(await api(server).post("/auth/reset", { email: root.email, code: stdout.trim(), new_password: password }));
	await login(api(server), { email: root.email, password });
});
