import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Kubernetes, skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";
import { startProxy, type TcpProxy } from "../peers/proxy.ts";
import { ACCOUNTS, BINDINGS } from "./crash/orchestrator.ts";
import { prepareSteering, type Steering } from "./faults/steering.ts";

const MINUTE_S = 60;

const options = { skip: skipWithoutKubernetes };
let world: EngineWorld;
let kubernetes: Kubernetes;
let proxy: TcpProxy;
let steering: Steering;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutKubernetes !== false) return;
	kubernetes = await startKubernetes();
	ends.defer(kubernetes.stop);
	proxy = await startProxy(Number(new URL(kubernetes.url).port));
	ends.defer(proxy.stop);
	steering = await prepareSteering();
	ends.defer(steering.remove);
	world = await startEngineWorld(steering.options);
	ends.defer(world.close);
	const configured = await world.configure("containerorch", {
		api_server: `https://${proxy.address}`,
		bearer_token: kubernetes.adminToken,
		ca_cert: kubernetes.ca,
	});
	assert.equal(ok(configured).status, "healthy");
});

async function generate(ttl: string) {
	const answer = await world.generate<{ service_account: string }>("containerorch", { role: "viewer", ttl });
	return { answer, name: ok(answer).service_account };
}

/** Returns the objects of a credential that are left at the API server. */
async function remains(name: string): Promise<string[]> {
	const paths = [`${ACCOUNTS}/${name}`, `${BINDINGS}/${name}-viewer`];
	const statuses = await Promise.all(paths.map(async (path) => (await kubernetes.request("GET", path)).status));
	return paths.filter((_, at) => statuses[at] !== 404);
}

// An API server keeps its own time: for a server whose clock is ahead, later tokens end sooner.
test("a credential is gone soon after its end, and one that has not ended is not", options, async () => {
	const short = await generate("10m");
	const long = await generate("20m");
	await steering.pass(11 * MINUTE_S);
	await eventually("it is gone", async () => (await remains(short.name)).length === 0);
	assert.equal((await remains(long.name)).length, 2);
	await eventually("its lease is closed", async () => (await world.leaseOf(short.answer)).state === "revoked");
	assert.equal((await world.leaseOf(long.answer)).state, "active");
});

test("a credential outlives neither a kill of the server nor the absence of its target", options, async () => {
	const { answer, name } = await generate("30m");
	await world.server.kill("SIGKILL");
	proxy.refuse();
	await steering.pass(30 * MINUTE_S);
	await world.server.restart();
	await eventually("the lease waits for its target", async () => {
		const { state, attempts } = await world.leaseOf(answer);
		return state === "revoking" && attempts > 0;
	});
	assert.equal((await remains(name)).length, 2);
	proxy.restore();
	await eventually("it is gone", async () => (await remains(name)).length === 0);
	await eventually("its lease is closed", async () => (await world.leaseOf(answer)).state === "revoked");
});

test("a validate while the target is away is kept until it is back", options, async () => {
	const { answer, name } = await generate("2h");
	proxy.refuse();
	for (const service_account of [name, "svc-00000001"])
		refused(await world.validate("containerorch", { service_account }), 503, "engine_unavailable");
	assert.equal((await world.leaseOf(answer)).state, "revoking");
	proxy.restore();
	await eventually("it is gone", async () => (await remains(name)).length === 0);
});
