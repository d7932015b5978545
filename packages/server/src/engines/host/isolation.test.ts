import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeFolder } from "../../testing/store.ts";
import { until } from "../../testing/until.ts";
import type { BuiltInEngine } from "./model.ts";
import { FIXTURES, isRunning, restricted, scripted, settings, startHost } from "./testing.ts";

async function dataOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
	const { data } = (await call) as { data: Record<string, unknown> };
	return data;
}

/** Starts a server in its own process, killed after the test or with `kill`. @returns its engine's answer, and `kill` */
async function startServerProcess(t: TestContext, script: string, env: Record<string, string>) {
	const file = join(FIXTURES, "host-process.ts");
	const server = spawn(process.execPath, [file, await makeFolder(t), script], {
		env,
		stdio: ["ignore", "pipe", "inherit"],
	});
	t.after(() => void server.kill("SIGKILL"));
	const [said] = (await once(server.stdout, "data")) as [Buffer];
	return { data: JSON.parse(String(said)).data as Record<string, unknown>, kill: () => server.kill("SIGKILL") };
}

test("nothing of the server's environment reaches an engine", async (t) => {
	const env = { PATH: "/nowhere", SVC_MASTER_KEY: "CANARY", HTTPS_PROXY: "CANARY", NODE_OPTIONS: "--no-warnings" };
	const { data } = await startServerProcess(t, "hostile/curious.mjs", env);
	assert.deepEqual(data.environment, ["LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "TZ=UTC"]);
});

test("an engine gets the variables of its settings, in addition to a path, a language and a time zone that they cannot change", async (t) => {
	const { host, catalog } = await startHost(t, [scripted("hostile/curious.mjs")]);
	const environment = { SVC_TEST_A: "a", PATH: "/tmp", TZ: "Asia/Tokyo", NODE_OPTIONS: "--inspect" };
	const seen = await dataOf(host.call("curious", settings({ environment }), "generate", {}));
	assert.deepEqual(seen.environment, ["LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "SVC_TEST_A=a", "TZ=UTC"]);
	assert.deepEqual([seen.arguments, seen.flags], [[], []]);
	assert.deepEqual([seen.cwd, seen.files], [catalog.cwd, []]);
	if (existsSync("/usr/bin/setpriv")) assert.match(String(seen.status), /^NoNewPrivs:\s+1$/m);
});

test("an engine has its three streams and no other descriptor", async (t) => {
	const { host } = await startHost(t, [scripted("identity.sh")]);
	const { pid } = await dataOf(host.call("identity", settings(), "generate", {}));
	// The shell keeps its script open as a descriptor of 10 or more.
	const numbers = (await readdir(`/proc/${pid}/fd`)).map(Number).filter((number) => number < 10);
	assert.deepEqual(numbers, [0, 1, 2]);
});

/** Lets a restricted engine reach for more than it needs. @returns the result of each attempt */
async function reach(t: TestContext, ...how: [network: boolean, node?: BuiltInEngine["node"]]) {
	const { host, folder } = await startHost(t, [restricted("hostile/reaching.mjs", ...how)]);
	const database = join(folder, "svc.db");
	const allowed = join(folder, "settings");
	await writeFile(database, "CANARY");
	await writeFile(allowed, "settings");
	const tcp = createServer().listen(0, "127.0.0.1");
	const unix = createServer().listen(join(folder, "socket"));
	await Promise.all([once(tcp, "listening"), once(unix, "listening")]);
	t.after(async () => {
		tcp.close();
		unix.close();
	});
	const { port } = tcp.address() as { port: number };
	const outcomes = await dataOf(
		host.call("reaching", settings({ reads: [allowed] }), "generate", { database, allowed, port, folder }),
	);
	assert.deepEqual((await readdir(folder)).sort(), ["run", "settings", "socket", "svc.db"]);
	return outcomes;
}

const DENIED = {
	read: "ERR_ACCESS_DENIED",
	read_allowed: "done",
	see: "ERR_ACCESS_DENIED",
	write: "ERR_ACCESS_DENIED",
	write_to_cwd: "ERR_ACCESS_DENIED",
	link: "ERR_ACCESS_DENIED",
	spawn: "ERR_ACCESS_DENIED",
	worker: "ERR_ACCESS_DENIED",
	addon: "ERR_DLOPEN_DISABLED",
	inspect: "ERR_ACCESS_DENIED",
	generate_code: "EvalError",
	prototype: "absent",
};

test("an engine of ours reads what it is allowed to, and reaches neither other files, processes nor the network", async (t) => {
	const denied = "ERR_ACCESS_DENIED";
	const network = { connect: denied, connect_unix: denied, resolve: denied, listen: denied };
	assert.deepEqual(await reach(t, false), { ...DENIED, ...network });
});

test("when the environment says so, as in the single binary, it is held back in the same way", async (t) => {
	const { connect, connect_unix, resolve, listen, ...others } = await reach(t, false, "environment");
	for (const outcome of [connect, connect_unix, resolve, listen]) assert.equal(outcome, "ERR_ACCESS_DENIED");
	assert.deepEqual(others, DENIED);
});

test("an engine of ours that talks to a system of its own reaches the network, and nothing else", async (t) => {
	const { connect, resolve, connect_unix: _, listen: __, ...others } = await reach(t, true);
	assert.deepEqual({ connect, resolve }, { connect: "done", resolve: "done" });
	assert.deepEqual(others, DENIED);
});

test("flags come from the launch alone", async (t) => {
	const { catalog } = await startHost(t, [restricted("hostile/reaching.mjs", true), scripted("echo.mjs")]);
	const { arguments: args } = catalog.byType.get("reaching")?.launch(["/a", "/b"]) ?? assert.fail();
	assert.deepEqual(args, [
		"--permission",
		"--disable-warning=ExperimentalWarning",
		"--disable-proto=delete",
		"--disallow-code-generation-from-strings",
		"--disable-sigusr1",
		"--max-old-space-size=64",
		"--allow-net",
		`--allow-fs-read=${FIXTURES}`,
		"--allow-fs-read=/a",
		"--allow-fs-read=/b",
		join(FIXTURES, "hostile/reaching.mjs"),
	]);
	assert.deepEqual(catalog.byType.get("echo")?.launch(["/a"]).arguments, [join(FIXTURES, "echo.mjs")]);
});

for (const script of ["echo.mjs", "hostile/stubborn.mjs"]) {
	test(`a server that is killed leaves no process of ${script} behind`, async (t) => {
		// Without setpriv, only the end of its input ends an engine.
		if (script !== "echo.mjs" && !existsSync("/usr/bin/setpriv")) return;
		const { data, kill } = await startServerProcess(t, script, {});
		const pid = Number(data.pid);
		assert.ok(isRunning(pid));
		const end = performance.now() + 3000;
		kill();
		await until(() => !isRunning(pid));
		assert.ok(performance.now() < end);
	});
}

test("engines start in an empty folder that nobody is to write to", async (t) => {
	const { catalog } = await startHost(t, []);
	assert.deepEqual(await readdir(catalog.cwd), []);
	assert.equal((await stat(catalog.cwd)).mode & 0o777, 0o500);
});
