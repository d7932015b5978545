import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../harness/client.ts";
import { type EngineWorld, eventually, type Lease, startEngineWorld } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { type FakeOrchestrator, type Fault, type Step, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";
import { ACCOUNTS } from "./crash/orchestrator.ts";
import { prepareSteering, type Steering } from "./faults/steering.ts";

/** Seconds until a target that denies access is asked again. Design: §9 */
const BLOCKED_S = 60;
/** Seconds until an unknown name is removed from a target that only we use. Design: §9 */
const ORPHAN_S = 15 * 60;

let world: EngineWorld;
let fake: FakeOrchestrator;
let steering: Steering;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	fake = await startFakeOrchestrator();
	ends.defer(fake.stop);
	steering = await prepareSteering();
	ends.defer(steering.remove);
	world = await startEngineWorld(steering.options);
	ends.defer(world.close);
	assert.equal(await configure({}), "healthy");
});
beforeEach(() => {
	for (const step of FAULTY) fake.fault(step, undefined);
});

const FAULTY: Step[] = ["ping", "delete_binding", "delete_account", "read"];

async function configure(more: object): Promise<string> {
	const fields = { api_server: fake.url, bearer_token: fake.token, ca_cert: fake.ca, ...more };
	return ok(await world.configure("containerorch", fields)).status;
}

/** Makes a credential; returns its name, and a function that reads its lease. */
async function make(): Promise<{ name: string; lease: () => Promise<Lease> }> {
	const params = { role: "editor", ttl: "240h" };
	const answer = await world.generate<{ service_account: string }>("containerorch", params);
	return { name: ok(answer).service_account, lease: () => world.leaseOf(answer) };
}

const validate = (name: string) => world.validate("containerorch", { service_account: name });

const isThere = (name: string): boolean => [...fake.objects.keys()].some((path) => path.includes(name));

async function statuses(): Promise<string[]> {
	return (await world.details()).targets.map(({ status }) => status);
}

const FAULT_500: Fault = { does: "answer", status: 500, body: "etcd" };

test("what is not there is revoked: status 404 everywhere", async () => {
	const { name, lease } = await make();
	fake.objects.clear();
	assert.equal(ok(await validate(name)).valid, false);
	assert.equal((await lease()).state, "revoked");
});

test("bindings that cannot be deleted keep nothing", async () => {
	const { name, lease } = await make();
	fake.fault("delete_binding", FAULT_500);
	ok(await validate(name));
	assert.equal((await lease()).state, "revoked");
	assert.equal(fake.objects.has(`${ACCOUNTS}/${name}`), false);
});

const TROUBLES: Fault[] = [FAULT_500, { does: "answer", status: 429, body: "slowly" }, { does: "drop" }];

for (const fault of TROUBLES) {
	const what = fault.does === "answer" ? `status ${fault.status}` : fault.does;
	test(`an account whose deletion comes to ${what} is tried again until it is gone`, async () => {
		const { name, lease } = await make();
		fake.fault("delete_account", fault);
		const answer = await validate(name);
		if (fault.does === "answer") said(answer, fault.status);
		else refused(answer, 503, "engine_unavailable");
		const { state, last_error } = await lease();
		assert.equal(state, "revoking");
		assert.match(last_error, /^deleting service account: DELETE \S+: \S/);
		await eventually("it is tried again", async () => (await lease()).attempts > 1);
		fake.fault("delete_account", undefined);
		await steering.pass(BLOCKED_S);
		await eventually("it is gone", async () => (await lease()).state === "revoked");
		assert.equal(isThere(name), false);
	});
}

test("a deletion that was done, and whose answer broke off, is found out", async () => {
	const { name, lease } = await make();
	fake.fault("delete_account", { does: "break" });
	refused(await validate(name), 503, "engine_unavailable");
	await eventually("it is known", async () => (await lease()).state === "revoked");
});

test("a deletion that was said to be done is looked at", async () => {
	const { name, lease } = await make();
	fake.fault("delete_account", { does: "answer", status: 200, body: {} });
	refused(await validate(name), 400, "engine_error");
	assert.match((await lease()).last_error, /\bexists$/);
	fake.fault("delete_account", undefined);
	await steering.pass(BLOCKED_S);
	await eventually("it is gone", async () => (await lease()).state === "revoked");
	assert.equal(isThere(name), false);
});

/** Fails unless the answer is the specified one for an API server that refuses. Spec: ENGINES › Errors */
function said(answer: Answer, status: number): void {
	refused(answer, 400, "engine_error");
	assert.match(answer.text, new RegExp(`"deleting service account: DELETE /api/v1/\\S+: status ${status}\\b`));
}

/** Lets the server ask a blocked target once more. A pause begins only after the answer to the previous question. */
async function afterAPause(holds: () => Promise<boolean> | boolean): Promise<boolean> {
	await steering.pass(BLOCKED_S + 1);
	for (const end = performance.now() + 500; performance.now() < end; await sleep(50)) if (await holds()) return true;
	return holds();
}

for (const status of [403, 401]) {
	test(`a target that answers ${status} is blocked, as health shows, until that is put right there`, async () => {
		const { name, lease } = await make();
		const refusal: Fault = { does: "answer", status, body: "not you" };
		for (const step of FAULTY) fake.fault(step, refusal);
		said(await validate(name), status);
		await eventually("it is blocked", async () => (await statuses()).includes("blocked"));
		for (const what of ["it is asked again", "and again"]) {
			fake.steps();
			await eventually(what, () => afterAPause(() => fake.steps().includes("ping")));
		}
		assert.deepEqual(await statuses(), ["blocked"], "as long as it is denied");
		assert.equal((await lease()).state, "revoking");
		for (const step of FAULTY) fake.fault(step, undefined);
		await eventually("it is gone", () => afterAPause(async () => (await lease()).state === "revoked"));
		assert.equal(isThere(name), false);
		await eventually("nothing is wrong", async () => !(await statuses()).includes("blocked"));
	});
}

test("a blocked target is asked immediately when its configuration is set", async () => {
	const { name, lease } = await make();
	fake.fault("delete_account", { does: "answer", status: 403 });
	said(await validate(name), 403);
	await eventually("it is blocked", async () => (await statuses()).includes("blocked"));
	fake.fault("delete_account", undefined);
	assert.equal(await configure({}), "healthy");
	await eventually("it is gone", async () => (await lease()).state === "revoked");
	assert.equal(isThere(name), false);
});

async function stories(name: string): Promise<string[]> {
	const all = await events(world.client, world.admin, "");
	return all.filter(({ data }) => data.name === name).map(({ type }) => type);
}

test("a revoked account that is back is revoked again", async () => {
	const { name, lease } = await make();
	ok(await validate(name));
	fake.objects.set(`${ACCOUNTS}/${name}`, { metadata: { name } });
	await eventually("it is gone", () => !isThere(name));
	await eventually("its lease is closed", async () => (await lease()).state === "revoked");
	assert.ok((await stories(name)).includes("lease.zombie"));
});

test("an account of ours that no lease knows is reported, and removed where nobody else makes such names", async () => {
	const name = "svc-deadbeef";
	const path = `${ACCOUNTS}/${name}`;
	fake.objects.set(path, { metadata: { name, labels: { "app.kubernetes.io/managed-by": "svc" } } });
	fake.objects.set(`${ACCOUNTS}/default`, { metadata: { name: "default" } });
	await eventually("it is reported", async () => (await stories(name)).includes("lease.orphan"));
	await steering.pass(ORPHAN_S);
	fake.steps();
	await eventually("it is swept again", () => fake.steps().includes("read"));
	assert.equal(fake.objects.has(path), true, "others may make such names");
	await configure({ exclusive: true });
	await steering.pass(ORPHAN_S);
	await eventually("it is removed", () => !fake.objects.has(path));
	assert.equal(fake.objects.has(`${ACCOUNTS}/default`), true);
});

test("an account that somebody deleted is missed", async () => {
	const { name, lease } = await make();
	fake.objects.clear();
	await steering.pass(2 * BLOCKED_S);
	await eventually("it is missed", async () => (await stories(name)).includes("lease.lost"));
	assert.notEqual((await lease()).last_error, "");
	ok(await validate(name));
});
