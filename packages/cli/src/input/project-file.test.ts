import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

/** Folders `above/below`, each with a `.svc.toml` of this content, if given. */
async function folders({ above, below }: { above?: string; below?: string }) {
	const folder = await temporaryFolder();
	const cwd = join(folder.path, "below");
	await mkdir(cwd);
	if (above !== undefined) await writeFile(join(folder.path, ".svc.toml"), above);
	if (below !== undefined) await writeFile(join(cwd, ".svc.toml"), below);
	return Object.assign(folder, { cwd });
}

test("realm and environment are of the flag, else of the variable, else of the nearest file upwards, else dev", async () => {
	await using server = await startService(() => page("secrets", []));
	await using both = await folders({ above: 'realm = "shop"\nenv = "prod"\n', below: '# none\nrealm = "till"\n' });
	await using above = await folders({ above: 'realm = "shop"\nenv = "prod"\n' });
	const seen = async (cwd: string, args: readonly string[] = [], env = {}) => {
		const { code } = await run(["secret", "list", ...args], { env: { ...server.env, ...env }, cwd });
		return [code, server.requests.at(-1)?.url.replace("/api/v1/realms/", "").replace("&values=false&limit=100", "")];
	};
	assert.deepEqual(await seen(above.cwd), [0, "shop/secrets?env=prod"]);
	// Only the nearest file counts: what it omits does not come from another one.
	assert.deepEqual(await seen(both.cwd), [0, "till/secrets?env=dev"]);
	assert.deepEqual(await seen(above.cwd, [], { SVC_ENV: "test" }), [0, "shop/secrets?env=test"]);
	assert.deepEqual(await seen(above.cwd, ["--realm", "cafe"], { SVC_REALM: "till" }), [0, "cafe/secrets?env=prod"]);
	const machine = { SVC_MACHINE: "till/deploy" };
	assert.deepEqual(await seen(above.cwd, [], machine), [0, "shop/secrets?env=prod"]);
	assert.deepEqual(await seen("/", [], machine), [0, "till/secrets?env=dev"]);
	assert.equal((await run(["secret", "list"], { env: server.env })).code, 2);
});

test("a list of leases is of the file's realm, and of all realms when that is asked for", async () => {
	await using server = await startService(() => page("leases", []));
	await using folder = await folders({ above: 'realm = "shop"' });
	await run(["lease", "list"], { env: server.env, cwd: folder.cwd });
	await run(["lease", "list", "--all-realms"], { env: server.env, cwd: folder.cwd });
	assert.deepEqual(
		server.requests.map(({ url }) => url.replace(/\?.*/, "")),
		["/api/v1/realms/shop/leases", "/api/v1/leases"],
	);
});

const REFUSED: readonly (readonly [content: string, message: RegExp])[] = [
	['token = "svc_hunter2"', /\btoken\b.*\bbelong\b/],
	['address = "https://hunter2.example"', /\belsewhere\b/],
	['relm = "hunter2"', /\brealm and env only\b.*\brelm\b.* realm\?/],
	['"re\\u001b[31m" = "hunter2"', /only, not re\\u001b\[31m/],
	["realm = 7", /\brealm is a slug\b/],
	['realm = "svc_hunter2"', /\brealm is a slug\b/],
	['realm = "../hunter2"', /\brealm is a slug\b/],
	['[env]\nname = "hunter2"', /\benv is an environment\b/],
	['realm = "shop"\nenv = hunter2\n', /\bline 2\b/],
	['env = "hunter2"\nrealm = "shop"', / dev, staging, prod or test\b/],
];

for (const [content, message] of REFUSED) {
	test(`a .svc.toml with ${JSON.stringify(content)} is refused before anything is sent`, async () => {
		await using server = await startService(() => page("secrets", []));
		await using folder = await folders({ above: content });
		const { code, stderr } = await run(["secret", "list"], { env: server.env, cwd: folder.cwd });
		assert.equal(code, 2);
		assert.match(stderr, message);
		assert.match(stderr, /\.svc\.toml/);
		assert.doesNotMatch(stderr, /hunter2/);
		assert.deepEqual(server.requests, []);
	});
}

test("a .svc.toml that cannot be read is an error with its path, and nothing to those who say both themselves", async () => {
	await using server = await startService(() => page("secrets", []));
	await using folder = await folders({});
	await mkdir(join(folder.cwd, ".svc.toml"));
	const list = (...args: string[]) => run(["secret", "list", ...args], { env: server.env, cwd: folder.cwd });
	const { code, stderr } = await list("--realm", "shop");
	assert.equal(code, 2);
	assert.match(stderr, /below\/\.svc\.toml: .*\(EISDIR\)/);
	assert.equal((await list("--realm", "shop", "--env", "dev")).code, 0);
});
