import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { refused } from "../../harness/expect.ts";
import {
	type Fault as FakeFault,
	type FakeOrchestrator,
	type Step,
	startFakeOrchestrator,
} from "../../peers/kubernetes-fake.ts";
import { childrenOf } from "../hostile/processes.ts";
import { testRestores } from "./backups.ts";
import { allLeases, assertSettled } from "./oracle.ts";
import { ACCOUNTS, accountOf, nameIn, orchestratorAt } from "./orchestrator.ts";
import { type Fault, PARTIAL_POINTS, POINTS } from "./points.ts";
import { testRealmDeletion } from "./realm-deletion.ts";
import type { Scene } from "./scene.ts";
import { type TestOptions, testCrashes } from "./suite.ts";
import type { Struck, Target } from "./target.ts";

/** The call that each fault concerns, and its effect; a held create waits until the test releases it. */
const FAULTS: Readonly<Record<Fault, [step: Step, fault: FakeFault | undefined]>> = {
	"create held": ["create_account", undefined],
	"create unanswered": ["request_token", { does: "hang", acts: true, times: 1 }],
	"remove unanswered": ["delete_account", { does: "hang", acts: true, times: 1 }],
	"binding unmade": ["create_binding", { does: "hang", times: 1 }],
	"binding unanswered": ["create_binding", { does: "hang", acts: true, times: 1 }],
	"token unmade": ["request_token", { does: "hang", times: 1 }],
};

async function strike({ calls, fault }: FakeOrchestrator, what: Fault): Promise<Struck> {
	const [step, does] = FAULTS[what];
	const { promise: until, resolve } = Promise.withResolvers<void>();
	const before = calls.length;
	fault(step, does ?? { does: "wait", until, times: 1 });
	const struck = eventually(`${what}: it was called`, () => calls.slice(before).some((call) => call.step === step));
	return { struck, release: async () => resolve() };
}

/** Starts a fake API server that can fail at each step. */
async function start(): Promise<Target> {
	const fake = await startFakeOrchestrator();
	const { objects } = fake;
	return {
		...orchestratorAt({ api_server: fake.url, bearer_token: fake.token, ca_cert: fake.ca }),
		names: async () => [...objects.keys()].flatMap(nameIn),
		strike: (what) => strike(fake, what),
		revive: async (name) => void objects.set(`${ACCOUNTS}/${name}`, accountOf(name)),
		async remove(name) {
			for (const path of objects.keys()) if (nameIn(path).includes(name)) objects.delete(path);
		},
		stop: fake.stop,
	};
}

/** Tests C13: not the server dies but the engine. */
function testEngineDeath(scene: () => Scene, options: TestOptions): void {
	test("C13: the engine dies when the create was sent", options, () => killEngine(scene(), "create held", false));
	test("C13: the engine dies when the binding was made", options, () =>
		killEngine(scene(), "binding unanswered", false),
	);
	test("C13, and the recovery dies too", options, () => killEngine(scene(), "token unmade", true));
}

async function killEngine({ world, target, dieAgain, restart }: Scene, fault: Fault, dies: boolean): Promise<void> {
	// After a few deaths the server leaves an engine alone for half a minute; a restart resets the count.
	await restart();
	const known = (await allLeases(world)).map(({ id }) => id);
	const { struck, release } = await target.strike(fault);
	const answer = world.generate(target.type, target.params);
	await struck;
	for (const { pid } of childrenOf(world.server.pid)) process.kill(pid, "SIGKILL");
	refused(await answer, 503, "engine_unavailable");
	if (dies) {
		await world.server.kill("SIGKILL");
		await dieAgain("after engine.validate");
		await restart();
	}
	const lease = (await allLeases(world)).find(({ id }) => !known.includes(id));
	assert.ok(lease);
	await assertSettled(world, target, lease.id, "aborted");
	await release();
}

testCrashes({
	skip: false,
	start,
	points: [...POINTS, ...PARTIAL_POINTS],
	thorough: "C4",
	also: [testRealmDeletion, testRestores, testEngineDeath],
});
