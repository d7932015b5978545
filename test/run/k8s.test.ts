/* `svc k8s` as a person runs it: real processes against the real server and a real Kubernetes. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { type Kubernetes, skipWithoutKubectl, skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";
import { type Person, startPerson } from "./run-world.ts";

const options = { skip: skipWithoutKubernetes };

let kubernetes: Kubernetes;
let world: EngineWorld;
let ada: Person;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutKubernetes !== false) return;
	kubernetes = await startKubernetes();
	ends.defer(kubernetes.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	const { url: api_server, adminToken: bearer_token, ca: ca_cert } = kubernetes;
	ok(await world.configure("containerorch", { api_server, bearer_token, ca_cert }));
	ada = ends.use(await startPerson(world.server, world.admin.token));
	Object.assign(ada.env, { SVC_REALM: world.slug });
});

const node = (script: string, ...args: string[]) => ada.run(["k8s", ...args, "--", "node", "-e", script]);

/** Fails unless everything is gone: no open lease, and no account. */
async function assertGone(): Promise<void> {
	const states = (await world.leases()).map(({ state }) => state);
	assert.deepEqual(new Set(states), new Set(["revoked"]));
	const { body } = await kubernetes.request("GET", "/api/v1/namespaces/default/serviceaccounts");
	const names = (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
	assert.deepEqual(
		names.filter((name) => name.startsWith("svc-")),
		[],
	);
}

test("kubectl works as far as the role goes, and its exit code is svc's", { skip: skipWithoutKubectl }, async () => {
	ada.env.PATH += ":/usr/local/bin";
	const list = await ada.run(["k8s", "--", "kubectl", "get", "configmaps", "--output", "name"]);
	assert.equal(list.code, 0, list.stderr);
	const refused = await ada.run(["k8s", "--role", "viewer", "kubectl", "create", "configmap", "a"]);
	assert.equal(refused.code, 1);
	assert.match(refused.stderr, /Forbidden|forbidden/);
	const made = await ada.run(["k8s", "--role", "editor", "kubectl", "create", "configmap", "a"]);
	assert.equal(made.code, 0, made.stderr);
	await assertGone();
});

const LOOK = `const fs = require("node:fs"); const path = process.env.KUBECONFIG;
console.log(JSON.stringify({ path, file: fs.statSync(path).mode & 0o777, folder: fs.statSync(require("node:path").dirname(path)).mode & 0o777,
	text: fs.readFileSync(path, "utf8"), token: process.env.SVC_TOKEN ?? null }));`;

test(
	"the configuration is for its owner alone and gone afterwards; svc's own token is not handed on",
	options,
	async () => {
		const { code, stdout, stderr } = await node(LOOK);
		assert.equal(code, 0, stderr);
		const seen = JSON.parse(stdout);
		assert.deepEqual([seen.file, seen.folder, seen.token], [0o600, 0o700, null]);
		assert.match(seen.text, /^ {2}- name: svc-[0-9a-f]{8}\n {4}user:\n {6}token: /m);
		assert.ok(!seen.text.includes(world.admin.token) && !seen.text.includes(kubernetes.adminToken));
		assert.equal(existsSync(seen.path), false);
		await assertGone();
	},
);

test("svc run has it as a lease, with its token masked", options, async () => {
	const lease = ["run", "--lease", "containerorch:viewer", "--lease", "mine=containerorch:viewer,ttl=10m"];
	const { code, stdout, stderr } = await ada.run([...lease, "--", "node", "-e", LOOK]);
	assert.equal(code, 0, stderr);
	const seen = JSON.parse(stdout);
	assert.deepEqual([seen.file, seen.folder], [0o600, 0o700]);
	assert.match(seen.text, /^ {6}token: "?\*{5}"?$/m);
	assert.equal(existsSync(seen.path), false);
	const names = await ada.run([...lease, "--", "sh", "-c", "env | grep -o '^[A-Z_]*KUBECONFIG='"]);
	assert.deepEqual(names.stdout.trim().split("\n").toSorted(), ["KUBECONFIG=", "MINE_KUBECONFIG="]);
	await assertGone();
});

test("the account is deleted whatever way the program ends, or never starts", options, async () => {
	assert.equal((await node("process.exit(7)")).code, 7);
	assert.equal((await node('process.kill(process.pid, "SIGKILL")')).code, 128 + 9);
	assert.equal((await ada.run(["k8s", "--", "no-such-program"])).code, 127);
	await assertGone();
});

test("a signal reaches the program, and the account is deleted", options, async () => {
	const svc = ada.start(["k8s", "--", "node", "-e", 'setInterval(() => {}, 1000); console.log("ready")']);
	await svc.shows("ready");
	svc.child.kill("SIGTERM");
	assert.equal((await svc.ended()).code, 128 + 15);
	await assertGone();
});

test("a refusal of the engine is shown, with svc's own exit code", options, async () => {
	const { code, stderr } = await node("", "--role", "root");
	assert.equal(code, 125);
	assert.match(stderr, /^svc: unknown role root/);
	assert.equal((await node("", "--ttl", "1m")).code, 125);
});
