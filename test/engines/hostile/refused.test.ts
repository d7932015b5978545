/* Engines that are not what they claim, or that others could change, are not used; those in use see nothing of the server. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { appendFile, chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type EngineState, type EngineWorld, eventually, startEngineWorld } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { apiToken } from "../../harness/fixtures.ts";
import { installHostile } from "./hostile-engines.ts";
import { childrenOf, isRunning } from "./processes.ts";

/** Program that tells the kernel to end a process with its parent. */
const SETPRIV = "/usr/bin/setpriv";

/** Changes that spoil an installed engine, each with the reason that the server gives. */
const SPOILED: [type: string, changes: object, spoil: (home: string) => Promise<unknown>, reason: RegExp][] = [
	["other-name", { name: "another" }, nothing, /\bname in plugin\.json\b/],
	["other-sdk", { sdk_version: 2 }, nothing, /\bsdk_version\b/],
	["newer-core", { min_core_version: "99.0.0" }, nothing, /\b99\.0\.0\b.*\b0\.1\.0$/],
	["no-hash", { sha256: undefined }, nothing, /\bno sha256\b/],
	["other-hash", { sha256: "0".repeat(64) }, nothing, /\bsha256 differs\b/],
	["changed-before", {}, (home) => appendFile(join(home, "changed-before.mjs"), "\n"), /\bsha256 differs\b/],
	["link-outside", {}, linkOutside, /\blink\b/],
	["open-folder", {}, (home) => chmod(home, 0o777), /^its folder\b.*\bwritten\b/],
	["open-program", {}, (home) => chmod(join(home, "open-program.mjs"), 0o757), /\bexecutable\b.*\bwritten\b/],
	["keyvalue", {}, nothing, /\bbuilt-in\b/],
];

/** Engines whose answer to `describe` differs from their plugin.json. */
const IMPOSTORS: [type: string, changes: object, reason: RegExp][] = [
	["says-name", { name: "another" }, /^describe\b.*\bname\b/],
	["says-capability", { capabilities: ["secret_generation", "mind_reading"] }, /^describe: capabilities/],
	["says-more", { capabilities: ["dynamic_credentials"] }, /^describe\b.*\bcapability\b/],
	["says-sdk", { sdk_version: 2 }, /^describe\b.*\bsdk_version\b/],
	["says-core", { min_core_version: "99.0.0" }, /\b99\.0\.0\b.*\b0\.1\.0$/],
];

const role = (name: string) => ({ name, config: {} });

async function nothing(): Promise<void> {}

async function linkOutside(home: string): Promise<void> {
	const program = join(home, "link-outside.mjs");
	await rename(program, `${home}.mjs`);
	await symlink(`${home}.mjs`, program);
}

let folder: string;
let world: EngineWorld;

before(async () => {
	const scratch = await mkdtemp(join(tmpdir(), "svc-hostile-"));
	folder = join(scratch, "engines");
	await mkdir(folder, { mode: 0o700 });
	for (const [type, changes, spoil] of SPOILED) {
		await installHostile(folder, { [type]: "echo.mjs" }, changes);
		await spoil(join(folder, type));
	}
	const impostors = Object.fromEntries(IMPOSTORS.map(([type]) => [type, "hostile/impostor.mjs"]));
	await installHostile(folder, { ...impostors, neighbour: "echo.mjs", replaced: "echo.mjs" });
	await installHostile(folder, { ranked: "echo.mjs" }, { default_roles: ["readonly", "admin"].map(role) });
	await installHostile(folder, { curious: "hostile/curious.mjs", stubborn: "hostile/stubborn.mjs" });
	world = await startEngineWorld({
		env: {
			SVC_PLUGINS_DIR: folder,
			SVC_MASTER_KEY: randomBytes(32).toString("base64"),
			SVC_TOKEN: "canary",
			SVC_ORCH_TOKEN: "canary",
			SVC_PKI_CA_KEY: "canary",
			HTTPS_PROXY: "canary",
			NODE_REPL_HISTORY: "canary",
		},
	});
});
after(async () => {
	await world.close();
	await rm(join(folder, ".."), { recursive: true });
});

/** Returns an engine's public state. Of two with the same type, that of the unusable one. */
async function stateOf(wanted: string): Promise<EngineState> {
	return (
		(await world.details()).engines.findLast(({ type }) => type === wanted) ?? assert.fail(`${wanted} is not listed`)
	);
}

async function listed(): Promise<string[]> {
	const { token } = world.admin;
	const { engines } = ok(await world.client.get<{ engines: { type: string }[] }>("/engines", { token }));
	return engines.map(({ type }) => type);
}

for (const [type, , , reason] of SPOILED) {
	test(`an engine that is spoiled as ${type} is unavailable, with the reason, and the others are not`, async () => {
		const { status, message } = await stateOf(type);
		assert.equal(status, "unhealthy");
		assert.match(message, reason);
		const isOurs = type === "keyvalue";
		assert.deepEqual(
			(await listed()).filter((name) => name === type),
			isOurs ? [type] : [],
			"only what can be used is offered",
		);
		const answer = await world.generate<{ error: { message: string } }>(type, {});
		if (isOurs) refused(answer, 400, "engine_not_configured");
		else refused(answer, 503, "engine_unavailable");
		if (!isOurs) assert.ok(answer.body.error.message.endsWith(message), answer.text);
		ok(await world.generate("neighbour", {}));
	});
}

for (const [type, changes, reason] of IMPOSTORS) {
	test(`an engine that describes itself with ${JSON.stringify(changes)} is never asked again`, async () => {
		const { status } = ok(await world.configure(type, { changes: JSON.stringify(changes) }));
		assert.match(status, /^ping failed: /);
		const { message } = await stateOf(type);
		assert.match(message, reason);
		assert.equal((await listed()).includes(type), false);
		ok(await world.configure(type, { changes: "{}" }));
		refused(await world.generate(type, {}), 503, "engine_unavailable");
		ok(await world.generate("neighbour", {}));
	});
}

test("a program that is replaced while the server runs is not what runs", async () => {
	const program = join(folder, "replaced", "replaced.mjs");
	await writeFile(`${program}.new`, "#!/bin/sh\nexit 66\n", { mode: 0o700 });
	await rename(`${program}.new`, program);
	ok(await world.generate("replaced", {}));
});

test("an engine sees its own configuration and nothing of the server's environment", async () => {
	ok(await world.configure("curious", { journal: "its own" }));
	const seen = ok(await world.generate<Record<string, unknown>>("curious", {}));
	assert.deepEqual(seen.environment, [
		"LANG=C.UTF-8",
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"SVC_TEST_JOURNAL=its own",
		"TZ=UTC",
	]);
	assert.deepEqual([seen.arguments, seen.flags, seen.files], [[], [], []]);
});

test("an engine is asked for the role that was authorized, whatever stood in its place", async () => {
	const { token } = await apiToken(world.client, world.admin, "read");
	ok(await world.configure("neighbour", { role_capabilities: { admin: "realms:manage" } }));
	const ask = (type: string, params: object) =>
		world.client.post<{ params: object }>(`/realms/${world.slug}/engines/${type}/generate`, params, { token });
	for (const type of ["ranked", "neighbour"]) refused(await ask(type, { role: "admin" }), 403, "insufficient_scope");
	for (const role of [["admin"], { admin: true }, 5, null, "", undefined]) {
		assert.deepEqual(ok(await ask("ranked", { role, of: "a" })).params, { role: "readonly", of: "a" });
		assert.deepEqual(ok(await ask("neighbour", { role, of: "a" })).params, { of: "a" }, "it has no roles");
	}
});

test("an engine cannot open the server to a debugger, although it may send it signals", async () => {
	process.kill(world.server.pid, "SIGUSR1");
	for (let round = 0; round < 3; round++) ok(await world.generate("neighbour", {}));
	assert.doesNotMatch(world.server.stderr(), /Debugger listening/);
});

test("a server that is killed leaves no engine behind, not even one that ignores the end of its input and SIGTERM", async (t) => {
	if (!existsSync(SETPRIV)) return t.skip("without setpriv, only the end of its input ends an engine");
	ok(await world.generate("stubborn", {}));
	const engines = childrenOf(world.server.pid).map(({ pid }) => pid);
	assert.ok(engines.length >= 3, `${engines.length} engines`);
	assert.ok(engines.some((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("stubborn")));
	await world.server.kill("SIGKILL");
	await eventually("no engine runs", () => !engines.some(isRunning), 3);
	await world.server.restart();
	ok(await world.generate("stubborn", {}));
});
