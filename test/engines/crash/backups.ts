import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { events } from "../../harness/events.ts";
import { ok } from "../../harness/expect.ts";
import { allLeases, assertSettled } from "./oracle.ts";
import type { Scene } from "./scene.ts";
import type { TestOptions } from "./suite.ts";

/** Tests C15 and C16: the server, or its target, is restored to an earlier state. */
export function testRestores(scene: () => Scene, options: TestOptions): void {
	test(
		"C15: with an older ledger, what is due is revoked, and what it does not know is reported and left alone",
		options,
		() => restoreLedger(scene(), false),
	);
	test("C15, and the sweep dies when it has seen what is there", options, () => restoreLedger(scene(), true));
	test("C16: what the target's own backup brings back to life is revoked again", options, () =>
		restoreTarget(scene(), []),
	);
	test("C16, and the server dies when that was written down, and on the way", options, () =>
		restoreTarget(scene(), ["after leases.reopen", scene().target.recovery.revoked[0] ?? ""]),
	);
}

async function restoreLedger(scene: Scene, dies: boolean): Promise<void> {
	const { world, target } = scene;
	const { server } = world;
	const known = await scene.make();
	await server.stop();
	const backup = await mkdtemp(join(tmpdir(), "svc-backup-"));
	await cp(server.data, backup, { recursive: true });
	await scene.restart();
	const unknown = await scene.make();
	await server.kill("SIGKILL");
	await rm(server.data, { recursive: true });
	await cp(backup, server.data, { recursive: true });
	await rm(backup, { recursive: true });
	const list = target.recovery.none.at(-1) ?? "";
	if (dies) await scene.dieAgain(list);
	await scene.restart();
	const isTold = async () =>
		(await events(world.client, world.admin, "type=lease.orphan")).some(({ data }) => data.name === unknown.name);
	await eventually("the credential that no lease knows is reported", isTold);
	assert.ok((await target.names()).includes(unknown.name));
	ok(await world.validate(target.type, target.revoking(known.name)));
	assert.ok(!(await target.names()).includes(known.name));
	await target.remove(unknown.name);
	await assertSettled(world, target, known.id, "revoked");
}

async function restoreTarget(scene: Scene, deaths: readonly string[]): Promise<void> {
	const { world, target } = scene;
	const { name, id } = await scene.make();
	ok(await world.validate(target.type, target.revoking(name)));
	await target.revive(name);
	assert.equal((await allLeases(world)).find((lease) => lease.id === id)?.state, "revoked");
	await world.server.kill("SIGKILL");
	for (const step of deaths) await scene.dieAgain(step);
	await scene.restart();
	await assertSettled(world, target, id, "revoked");
}
