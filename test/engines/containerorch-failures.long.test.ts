import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer } from "../harness/client.ts";
import { type EngineWorld, eventually, type Lease, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type FakeOrchestrator, type Fault, type Step, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";
import { prepareSteering, type Steering } from "./faults/steering.ts";
import { childrenOf } from "./hostile/processes.ts";

const CREATES = ["create_account", "create_binding", "request_token"] as const;
/** The beginning of each step's message. Spec: ENGINES › Errors */
const BEGINNINGS = {
	create_account: /^creating service account: POST \S+\/serviceaccounts: /,
	create_binding: /^creating role binding: POST \S+\/rolebindings: /,
	request_token: /^requesting token: POST \S+\/svc-[0-9a-f]{8}\/token: /,
};
/** Seconds between the looks at a credential that may still appear. Design: §9 */
const LOOKS_S = [5, 25, 90, 480, 600];

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
	const configured = await world.configure("containerorch", {
		api_server: fake.url,
		bearer_token: fake.token,
		ca_cert: fake.ca,
	});
	assert.equal(ok(configured).status, "healthy");
});

/** Asks for a credential while the given steps fail. */
async function generate(faults: Partial<Record<Step, Fault>>): Promise<Answer<ErrorBody>> {
	const steps = Object.keys(faults) as Step[];
	for (const step of steps) fake.fault(step, faults[step]);
	const answer = await world.generate<ErrorBody>("containerorch", { role: "viewer", ttl: "24h" });
	for (const step of steps) fake.fault(step, undefined);
	return answer;
}

async function newest(): Promise<Lease> {
	const [lease] = await world.leases();
	assert.ok(lease);
	return lease;
}

/** Waits out the time in which absent credentials may still appear: the newest lease stays open until its end. */
async function waitOut(): Promise<void> {
	const { id } = await newest();
	const uncertain = () => world.leases("uncertain");
	for (const [looks, seconds] of LOOKS_S.entries()) {
		await eventually(`look ${looks + 1}`, async () => (await uncertain()).every(({ attempts }) => attempts > looks));
		assert.ok((await uncertain()).some((lease) => lease.id === id));
		await steering.pass(seconds);
	}
	await eventually("all are closed", async () => (await uncertain()).length === 0);
}

const FAULTS: [fault: Fault, status: number, message: RegExp][] = [
	[{ does: "answer", status: 403, body: { reason: "Forbidden" } }, 400, /status 403: \{"reason":"Forbidden"\}$/],
	[{ does: "answer", status: 409, body: "taken" }, 400, /status 409: taken$/],
	[{ does: "answer", status: 500, body: "etcd" }, 400, /status 500: etcd$/],
	[{ does: "answer", status: 500, body: "etcd", acts: true }, 400, /status 500: etcd$/],
	[{ does: "drop" }, 503, /\(UND_ERR_SOCKET\)$/],
	[{ does: "drop", acts: true }, 503, /\(UND_ERR_SOCKET\)$/],
	[{ does: "break" }, 503, /\(UND_ERR_SOCKET\)$/],
];

for (const step of CREATES) {
	for (const [fault, status, message] of FAULTS) {
		const { does, acts = false } = fault;
		const what = does === "answer" ? fault.status : does;
		test(`${step} that comes to ${what}${acts ? ", and was done," : ""} leaves nothing`, async () => {
			const answer = await generate({ [step]: fault });
			refused(answer, status, status === 400 ? "engine_error" : "engine_unavailable");
			assert.match(answer.body.error.message, BEGINNINGS[step]);
			assert.match(answer.body.error.message, message);
			await eventually("nothing is left", () => fake.objects.size === 0);
			const isSure = step === "create_account" && does === "answer" && fault.status < 500;
			const { state } = await newest();
			assert.equal(state, isSure ? "aborted" : "uncertain");
		});
	}
}

test("what is not known is looked at for twenty minutes, and then it is known", async () => {
	refused(await generate({ request_token: { does: "drop" } }), 503);
	await waitOut();
	assert.deepEqual(new Set((await world.leases()).map(({ state }) => state)), new Set(["aborted"]));
});

test("a step that only takes its time is waited for", async () => {
	const slow: Fault = { does: "delay", ms: 1500 };
	const answer = await generate({ create_account: slow, create_binding: slow, request_token: slow });
	assert.equal(answer.status, 200, answer.text);
	assert.equal((await world.leaseOf(answer)).state, "active");
	const { service_account } = answer.body as unknown as { service_account: string };
	ok(await world.validate("containerorch", { service_account }));
	assert.equal(fake.objects.size, 0);
});

test("steps that hang end after ten seconds, and leave nothing", async () => {
	const hang: Fault = { does: "hang", acts: true, times: 1 };
	for (const step of CREATES) fake.fault(step, hang);
	const answers = await Promise.all(CREATES.map(() => generate({})));
	for (const answer of answers) {
		refused(answer, 503, "engine_unavailable");
		assert.match(answer.body.error.message, /\b10 s$/);
	}
	await eventually("nothing is left", () => fake.objects.size === 0);
});

test("what could not be undone is revoked as soon as that is possible", async () => {
	const refusal: Fault = { does: "answer", status: 403, body: "no" };
	const table: Partial<Record<Step, Fault>>[] = [
		{ create_account: { does: "answer", status: 500, acts: true }, delete_account: refusal },
		{ create_account: { does: "drop", acts: true }, delete_account: refusal },
		{ create_account: { does: "answer", status: 502, body: "status 404", acts: true }, delete_account: refusal },
		{ create_binding: refusal, delete_account: { does: "answer", status: 500 } },
		{ request_token: refusal, delete_binding: refusal, delete_account: { does: "drop" } },
	];
	for (const faults of table) {
		const answer = await generate(faults);
		assert.match(answer.body.error.message, /; clean-up /);
		await steering.pass(61);
		await eventually("nothing is left", () => fake.objects.size === 0);
		assert.equal((await newest()).state, "uncertain");
	}
});

test("without a connection nothing was made, and that is known immediately", async () => {
	const other = await startFakeOrchestrator();
	const away = { api_server: other.url, bearer_token: other.token, ca_cert: other.ca };
	await other.stop();
	const where = world.slug;
	assert.match(ok(await world.configure("containerorch", away, where)).status, /^ping failed: .*\(ECONNREFUSED\)/);
	const answer = await generate({});
	refused(answer, 503, "engine_unavailable");
	assert.match(answer.body.error.message, /\(ECONNREFUSED\)$/);
	assert.equal((await newest()).state, "aborted");
	const path = `/realms/${where}/engines/containerorch/config`;
	ok(await world.client.delete(path, { token: world.admin.token }));
});

/** Asks for a credential, and strikes after a step has taken effect but before its answer. */
async function within(step: Step, strike: () => unknown): Promise<Answer<ErrorBody> | undefined> {
	fake.fault(step, { does: "hang", acts: true, times: 1 });
	fake.steps();
	const answer = generate({}).catch(() => undefined);
	const seen: Step[] = [];
	await eventually("it is asked", () => {
		seen.push(...fake.steps());
		return seen.includes(step);
	});
	await strike();
	return answer;
}

for (const step of CREATES) {
	test(`a kill of the server within ${step} leaves nothing`, async () => {
		await within(step, () => world.server.kill("SIGKILL"));
		await world.server.restart();
		await eventually("nothing is left", () => fake.objects.size === 0);
		assert.equal((await newest()).state, "uncertain");
	});

	test(`a kill of the engine within ${step} leaves nothing`, async () => {
		const answer = await within(step, () => {
			for (const { pid } of childrenOf(world.server.pid)) process.kill(pid, "SIGKILL");
		});
		assert.ok(answer);
		refused(answer, 503, "engine_unavailable");
		await eventually("nothing is left", () => fake.objects.size === 0);
		assert.equal((await newest()).state, "uncertain");
	});
}

test("whatever was not known is known in the end", async () => {
	await waitOut();
	assert.equal(fake.objects.size, 0);
	assert.ok(!world.server.stderr().includes(fake.token));
});
