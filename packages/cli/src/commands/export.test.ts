import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const SECRETS = [
	{ key: "URL", value: "https://a.example/?b=c" },
	{ key: "NOTE", value: "hunter2's\nlines" },
];
const EXPORT = ["export", "--realm", "shop", "--env", "prod"];

const start = (secrets: readonly object[] = SECRETS) => startService(() => page("secrets", secrets));

test("the secrets of an environment are printed, or those that are named; .env is the usual format", async () => {
	await using server = await start();
	const print = async (...args: string[]) => (await run([...EXPORT, ...args], { env: server.env })).stdout;
	assert.equal(await print(), "URL='https://a.example/?b=c'\nNOTE=\"hunter2's\nlines\"\n");
	assert.equal(await print("URL", "--format", "shell"), "export URL='https://a.example/?b=c'\n");
	assert.deepEqual(JSON.parse(await print("NOTE", "--json")), { NOTE: "hunter2's\nlines" });
	assert.match(await print("--format", "k8s"), /^ {2}name: "shop-prod"$/m);
	assert.match(
		await print("--format", "k8s", "--name", "till", "--namespace", "apps"),
		/^ {2}name: "till"\n {2}namespace: "apps"$/m,
	);
	assert.equal(server.requests[0]?.url, "/api/v1/realms/shop/secrets?env=prod&limit=100");
});

test("what a format cannot hold is named all at once, with the formats that can, and nothing is printed", async () => {
	await using server = await start([
		...SECRETS,
		{ key: "tls/key", value: "hunter2" },
		{ key: "a-b", value: "hunter2\n" },
	]);
	const outcome = await run([...EXPORT, "--format", "systemd"], { env: server.env });
	assert.deepEqual([outcome.code, outcome.stdout], [1, ""]);
	assert.match(outcome.stderr, /\bsystemd\b.* tls\/key\b.* a-b\b/);
	assert.match(outcome.stderr, /\nhint: dotenv, json, yaml\b/);
	assert.doesNotMatch(outcome.stderr, /hunter2/);
	assert.equal((await run([...EXPORT, "URL", "--format", "systemd"], { env: server.env })).code, 0);
});

test("variables that decide what runs are given to a shell, systemd or docker only when that is wished", async () => {
	const reserved = ["PATH", "LD_PRELOAD", "NODE_OPTIONS"];
	await using server = await start([...SECRETS, ...reserved.map((key) => ({ key, value: "hunter2" }))]);
	const print = (...args: string[]) => run([...EXPORT, ...args], { env: server.env });
	for (const format of ["shell", "systemd", "docker"]) {
		const refused = await print("--format", format, "URL", ...reserved);
		assert.deepEqual([refused.code, refused.stdout], [1, ""]);
		assert.match(
			refused.stderr,
			/^svc: PATH .*; LD_PRELOAD .*; NODE_OPTIONS .*\nhint: svc export KEY.* --allow-reserved /,
		);
		assert.doesNotMatch(refused.stderr, /hunter2|URL/);
		assert.match((await print("--format", format, "--allow-reserved", "URL", ...reserved)).stdout, /PATH=/);
		assert.equal((await print("--format", format, "URL")).code, 0);
	}
	for (const format of ["dotenv", "json", "yaml", "k8s"]) assert.equal((await print("--format", format)).code, 0);
});

test("a key that is not there is an error, and so is a name that Kubernetes would not take", async () => {
	await using server = await start();
	const { code, stderr } = await run([...EXPORT, "URL", "NONE", "NOR"], { env: server.env });
	assert.equal(code, 4);
	assert.match(stderr, /secrets NONE, NOR .* shop\/\w+/);
	for (const args of [
		["--name", "Shop"],
		["--name", "a..b"],
		["--namespace", "a.b"],
		["--name", 'a"\nkind: x'],
		["--format", "csv"],
	])
		assert.equal((await run([...EXPORT, "--format", "k8s", ...args], { env: server.env })).code, 2);
	assert.equal(server.requests.length, 1);
});

test("a file is new, only its owner can read it, and one that is there stays without --force", async () => {
	await using server = await start();
	await using folder = await temporaryFolder();
	const file = join(folder.path, ".env");
	const save = (...args: string[]) => run([...EXPORT, "--output", file, ...args], { env: server.env });
	assert.match((await save()).stdout, new RegExp(`^2 .* shop/prod .*${file}\n$`));
	assert.equal((await stat(file)).mode & 0o777, 0o600);
	const before = await readFile(file, "utf8");
	const refused = await save("--format", "json");
	assert.equal(refused.code, 1);
	assert.match(refused.stderr, /\.env .*\nhint: --force\b/);
	assert.equal(await readFile(file, "utf8"), before);
	await chmod(file, 0o644);
	const document = JSON.parse((await save("--format", "json", "--force", "--json")).stdout);
	assert.deepEqual(document, {
		realm: "shop",
		environment: "prod",
		format: "json",
		output: file,
		keys: ["URL", "NOTE"],
	});
	assert.equal((await stat(file)).mode & 0o777, 0o600);
	assert.deepEqual(JSON.parse(await readFile(file, "utf8")).URL, "https://a.example/?b=c");
	assert.deepEqual(await readdir(folder.path), [".env"]);
});

test("anything that is not a file is never replaced, and a folder that is not there is an error", async () => {
	await using server = await start();
	await using folder = await temporaryFolder();
	await mkdir(join(folder.path, "folder"));
	await writeFile(join(folder.path, "file"), "");
	for (const [path, code] of [
		["folder", 1],
		["none/file", 1],
		["file/file", 1],
	] as const) {
		const outcome = await run([...EXPORT, "--force", "--output", join(folder.path, path)], { env: server.env });
		assert.equal(outcome.code, code);
		assert.doesNotMatch(outcome.stdout + outcome.stderr, /hunter2/);
	}
	assert.deepEqual(await readdir(folder.path), ["file", "folder"]);
});
