/* The way back in after the only instance admin's password was lost: the real program on the data of a stopped server. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, type Person, person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { runLocal } from "./local.ts";

let server: Server;
let client: Api;
let root: Person;
let ada: Person;
const folders: string[] = [];

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	ada = await person(client, "ada");
	await realm(client, root);
});
after(async () => {
	await server.close();
	for (const folder of folders) rmSync(folder, { recursive: true });
});

const PASSWORD = "a password that was set anew";

async function recover(email: string): Promise<{ code: string; stderr: string }> {
	const { code, stdout, stderr } = await runLocal(server.data, ["recover", email, "--yes"]);
	assert.equal(code, 0, stderr);
	assert.match(stdout, /^[\w-]{32}\n$/);
	return { code: stdout.trim(), stderr };
}

async function restart(): Promise<void> {
	await server.restart();
	client = api(server);
}

async function expectSound(): Promise<void> {
	const { stdout, stderr } = await runLocal(server.data, ["adopt", "--look", "--json"]);
	const { status, differences, strange } = JSON.parse(stdout);
	assert.deepEqual([status, differences, strange], ["sound", [], []], stderr);
}

const reset = (email: string, code: string) => client.post("/auth/reset", { email, code, new_password: PASSWORD });

test("the only instance admin, whose password is lost, is recovered and signs in; the database stays believed", async () => {
	await server.stop();
	const { stderr } = await recover(root.email);
	assert.match(stderr, /^database +\S+svc\.db$/m);
	assert.match(stderr, / [0-9a-f]{16}$/m);
	assert.match(stderr, /^accounts +2$/m);
	assert.match(stderr, new RegExp(`${root.email}, instance admin$`, "m"));
	const { code } = await recover(root.email.toUpperCase());
	await expectSound();
	await restart();
	ok(await reset(root.email, code));
	const token = await login(client, { email: root.email, password: PASSWORD });
	root = { ...root, password: PASSWORD, token };
	ok(await client.get("/users", { token }));
	const recorded = await events(client, root, "type=user.recovered");
	assert.deepEqual(
		recorded.map(({ actor, data }) => [actor, data.user_id, data.enabled, data.made_admin]),
		[
			["system", root.id, false, false],
			["system", root.id, false, false],
		],
	);
	const verified = ok(await client.get<{ status: string }>("/audit/verify", { token }));
	assert.equal(verified.status, "intact");
});

test("a disabled instance admin is enabled, and the log agrees", async () => {
	const raw = JSON.stringify({ instance_admin: true });
	ok(await client.send("PUT", `/api/v1/users/${ada.id}`, { token: root.token, raw }));
	ok(await client.post(`/users/${ada.id}/disable`, undefined, { token: root.token }));
	refused(await client.post("/auth/login", { email: ada.email, password: ada.password }), 401);
	await server.stop();
	const { code, stderr } = await recover(ada.email);
	assert.match(stderr, new RegExp(`${ada.email} .*\\benabled\\b`));
	await restart();
	ok(await reset(ada.email, code));
	const token = await login(client, { email: ada.email, password: PASSWORD });
	ok(await client.get("/users", { token }));
	await server.stop();
	await expectSound();
	await restart();
});

test("a running server, another key, another folder, an empty database and another account are distinguished, and nothing changes", async () => {
	const failing = async (data: string, email: string, says: RegExp, env = {}) => {
		const { code, stdout, stderr } = await runLocal(data, ["recover", email, "--yes"], env);
		assert.equal(code, 1, stderr);
		assert.equal(stdout, "");
		assert.match(stderr, says);
	};
	const member = await person(client, "member");
	await failing(server.data, root.email, /\banother svc server\b/);
	await server.stop();
	await failing(server.data, "nobody@example.test", /\bno account\b/);
	await failing(server.data, member.email, /\bno instance admin\b/);
	const folder = await mkdtemp(join(tmpdir(), "svc-recover-"));
	folders.push(folder);
	await failing(join(folder, "elsewhere"), root.email, /\bno database\b/);
	assert.equal(existsSync(join(folder, "elsewhere")), false, "nothing was made");
	const key = { SVC_MASTER_KEY_FILE: join(folder, "other-key") };
	await writeFile(key.SVC_MASTER_KEY_FILE, randomBytes(32), { mode: 0o400 });
	await failing(server.data, root.email, /\bmaster key\b.* [0-9a-f]{16}\b/, key);
	assert.equal((await runLocal(server.data, ["recover", root.email])).code, 2, "nobody can be asked");
	await expectSound();
	const empty = await startServer();
	await empty.stop();
	await failing(empty.data, root.email, /\bno accounts\b/);
	await empty.close();
	await restart();
	refused(await reset(member.email, "x".repeat(32)), 401);
});
