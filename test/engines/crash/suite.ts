import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { allLeases, assertAccounted, assertSettled } from "./oracle.ts";
import type { Point } from "./points.ts";
import { type Scene, startScene } from "./scene.ts";
import type { Target } from "./target.ts";

/** The tests of one kind of target. */
export interface Suite {
	/** The reason to skip them, or false. */
	readonly skip: string | false;
	start(): Promise<Target>;
	readonly points: readonly Point[];
	/** The point after which the recovery dies at each of its steps, because a whole credential exists. */
	readonly thorough: "C4" | "C5";
	/** Tests that need more than the server's death. */
	readonly also: readonly ((scene: () => Scene, options: TestOptions) => void)[];
}

/** Options of every test here. */
export type TestOptions = { readonly skip: string | false; readonly timeout: number };

/** At this rate the 20 minutes in which a credential may land late pass within seconds, but a credential's life of a day does not. */
const UPTIME_RATE = 1200;

/** Milliseconds that one test may take on a busy machine. */
const TIMEOUT_MS = 900_000;

/** Tests that every credential of this kind of target is accounted for, wherever the server dies. */
export function testCrashes({ skip, start, points, thorough, also }: Suite): void {
	let running: Scene | undefined;
	const scene = () => {
		assert.ok(running, "the server and its target run");
		return running;
	};
	const options: TestOptions = { skip, timeout: TIMEOUT_MS };
	const ends = new AsyncDisposableStack();
	after(() => ends.disposeAsync());
	before(async () => {
		if (skip !== false) return;
		const target = await start();
		ends.defer(() => target.stop());
		running = await startScene(target);
		ends.defer(running.close);
	});
	for (const [index, point] of points.entries()) {
		const title = `${point.id}: ${point.request} dies when ${point.after}`;
		test(title, options, () => dieAndRecover(scene(), point));
		test(`${title}, and so does the recovery`, options, () => dieTwice(scene(), point, index));
	}
	const point = points.find(({ id }) => id === thorough);
	assert.ok(point);
	test(`${thorough}, and the recovery dies at each of its steps`, options, () => dieAtEachStep(scene(), point));
	for (const tests of also) tests(scene, options);
	test("in the end every lease is closed, nothing is left, and no limit counts what is gone", options, () =>
		assertNothingIsLeft(scene()),
	);
}

async function dieAndRecover(scene: Scene, point: Point): Promise<void> {
	const death = await scene.die(point);
	await scene.restart();
	const id = await death.lease();
	await recovered(scene, point, id);
	await death.release();
	if (point.at === "create held") await assertLate(scene, id);
	await assertAccounted(scene.world, scene.target);
}

/** Checks a create that arrives after its clean-up: it takes effect only where nothing can prevent it; its lease is open then. */
async function assertLate({ world, target }: Scene, id: string | undefined): Promise<void> {
	const lease = (await allLeases(world)).find((one) => one.id === id);
	assert.ok(lease);
	const hasLanded = async () => (await target.names()).includes(lease.name);
	if (target.isFenced) assert.equal(await hasLanded(), false);
	else await eventually("the late create has landed", hasLanded);
}

/** Takes the steps of a recovery in turn. */
async function dieTwice(scene: Scene, point: Point, index: number): Promise<void> {
	const steps = scene.target.recovery[point.recovers];
	const death = await scene.die(point);
	await scene.dieAgain(steps[index % steps.length] ?? "");
	await scene.restart();
	await recovered(scene, point, await death.lease());
	await death.release();
}

async function dieAtEachStep(scene: Scene, point: Point): Promise<void> {
	const death = await scene.die(point);
	for (const step of scene.target.recovery.aborted) await scene.dieAgain(step);
	await scene.restart();
	await recovered(scene, point, await death.lease());
}

/** Revokes what a crash left active: perhaps nobody received it, but anybody who sees its lease in the list can revoke it. */
async function recovered({ world, target }: Scene, { ends }: Point, id: string | undefined): Promise<void> {
	await assertSettled(world, target, id, ends);
	if (ends !== "active") return;
	const path = `/realms/${world.slug}/leases/${id}`;
	ok(await world.client.delete(path, { token: world.admin.token }));
	await assertSettled(world, target, id, "revoked");
}

async function assertNothingIsLeft({ world, target, restart }: Scene): Promise<void> {
	const areClosed = async () =>
		(await allLeases(world)).every(({ state }) => state === "aborted" || state === "revoked");
	if (!(await areClosed())) await restart({ SVC_TEST_UPTIME_RATE: String(UPTIME_RATE) });
	await eventually("every lease is closed", areClosed, 120);
	assert.deepEqual(await target.names(), []);
	if (!target.isLimited) return;
	ok(await world.configure(target.type, { ...target.configuration, max_connections: 1 }));
	ok(await world.generate(target.type, target.params));
	refused(await world.generate(target.type, target.params), 409, "lease_limit_reached");
}
