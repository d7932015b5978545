import assert from "node:assert/strict";
import { test } from "node:test";
import { ok, refused } from "../../harness/expect.ts";
import { realm } from "../../harness/fixtures.ts";
import { allLeases, assertSettled } from "./oracle.ts";
import type { Scene } from "./scene.ts";
import type { TestOptions } from "./suite.ts";

/** Tests C14: a realm is deleted between the create and the activation of its lease. */
export function testRealmDeletion(scene: () => Scene, options: TestOptions): void {
	test(
		"C14: the realm is deleted before the lease is active: nobody gets the credential, and it is gone",
		options,
		() => deleteBetween(scene(), []),
	);
	test("C14, and the server dies when that was written down", options, () =>
		deleteBetween(scene(), ["after leases.activate"]),
	);
	test("C14, and the recovery dies too", options, () => {
		const { revoked } = scene().target.recovery;
		return deleteBetween(scene(), ["after leases.activate", revoked.at(-2) ?? "", revoked.at(-1) ?? ""]);
	});
}

/** @param deaths steps at which the server dies, one after the other */
async function deleteBetween(scene: Scene, [first, ...later]: string[]): Promise<void> {
	const { world, target } = scene;
	const { slug } = await realm(world.client, world.admin);
	const { token } = world.admin;
	await scene.order("hold before leases.activate");
	const answer = world.generate(target.type, target.params, slug).catch((error: unknown) => error);
	await scene.held("before leases.activate");
	ok(await world.client.delete(`/realms/${slug}`, { token }));
	if (first === undefined) {
		await scene.order("");
		refused((await answer) as Awaited<ReturnType<typeof world.generate>>, 404, "not_found");
	} else {
		await scene.dieAt(first, async () => {
			throw await answer;
		});
		for (const step of later) await scene.dieAgain(step);
		await scene.restart();
	}
	const lease = (await allLeases(world)).find((one) => one.realm === slug);
	assert.ok(lease);
	await assertSettled(world, target, lease.id, "revoked");
}
