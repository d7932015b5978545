/* The output of `svc engine generate --format`, passed to its consumers: a client of Redis, a shell, kubectl. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createClient } from "redis";
import { type Cli, createCli } from "../harness/cli.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { type Kubernetes, skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

const skipWithoutKubectl =
	skipWithoutKubernetes ||
	(spawnSync("kubectl", ["version", "--client"]).error === undefined
		? false
		: "kubectl is not installed: apt-get install kubernetes-client");

let world: EngineWorld;
let cli: Cli;
let redis: Redis;
let kubernetes: Kubernetes;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	world = await startEngineWorld();
	ends.defer(world.close);
	cli = await createCli(world.server, world.admin);
	ends.defer(cli.close);
	if (skipWithoutRedis === false) {
		redis = await startRedis();
		ends.defer(redis.stop);
		ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
	}
	if (skipWithoutKubectl === false) {
		kubernetes = await startKubernetes();
		ends.defer(kubernetes.stop);
		const { url: api_server, adminToken: bearer_token, ca: ca_cert } = kubernetes;
		ok(await world.configure("containerorch", { api_server, bearer_token, ca_cert }));
	}
});

async function generate(line: string): Promise<string> {
	const { code, stdout, stderr } = await cli.run(["engine", "generate", ...line.split(" "), "--realm", world.slug]);
	assert.equal(code, 0, stderr);
	return stdout;
}

test("a client connects with the address alone", { skip: skipWithoutRedis }, async () => {
	const client = createClient({ url: (await generate("keyvalue --format url")).trimEnd() });
	await client.connect();
	assert.equal(await client.get("nothing"), null);
	await client.close();
});

test("a shell that evaluates the lines has what is needed to connect", { skip: skipWithoutRedis }, async () => {
	const lines = await generate("keyvalue --format env");
	const script = `${lines}printf '%s %s %s %s' "$KEYVALUE_HOST" "$KEYVALUE_PORT" "$KEYVALUE_USERNAME" "$KEYVALUE_PASSWORD"`;
	const [host, port, username = "", password = ""] = spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout.split(
		" ",
	);
	assert.equal(`${host}:${port}`, redis.address);
	assert.equal(await (await redis.login(username, password)).send("GET", "nothing"), null);
});

test("an answer says how to connect only to callers that ask for it", { skip: skipWithoutRedis }, async () => {
	const path = `/realms/${world.slug}/engines/keyvalue/generate`;
	const answer = async (query: string) =>
		world.client.post<{ connection?: object; error?: { code: string } }>(
			`${path}${query}`,
			{},
			{ token: world.admin.token },
		);
	assert.equal("connection" in (await answer("")).body, false);
	assert.equal("connection" in (await answer("?connection=false")).body, false);
	assert.deepEqual((await answer("?connection=true")).body.connection, { tls: false });
	assert.equal((await answer("?connection=yes")).body.error?.code, "validation_failed");
});

test("kubectl works with the kubeconfig alone, as far as the role goes", { skip: skipWithoutKubectl }, async () => {
	const file = join(cli.home, "viewer.yaml");
	await writeFile(file, await generate("containerorch --role viewer --format kubeconfig"), { mode: 0o600 });
	const kubectl = (...args: string[]) =>
		spawnSync("kubectl", ["--kubeconfig", file, ...args], { encoding: "utf8", timeout: 300_000 });
	const list = kubectl("get", "configmaps", "--output", "name");
	assert.equal(list.status, 0, list.stderr);
	assert.match(kubectl("get", "secrets").stderr, /Forbidden/);
	assert.equal(kubectl("config", "view", "--minify", "--output", "jsonpath={..namespace}").stdout, "default");
});
