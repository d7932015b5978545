import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents } from "../../testing/events.ts";
import { anAccount, anEvent, MADE_AT } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about who manages the instance. */
export async function accountStatusContract(openStore: OpenStore): Promise<void> {
	const { accounts, ...store } = (await openStore({ after })).store;
	const [ada, bob] = [anAccount(), anAccount()];
	for (const account of [ada, bob]) await accounts.register(account, anEvent());

	const setAdmin = (user: { id: string }, instance_admin: boolean) =>
		accounts.setAdmin({ user_id: user.id, instance_admin }, anEvent());
	const setDisabled = (user: { id: string }, disabled_at: string | null) =>
		accounts.setDisabled({ user_id: user.id, disabled_at }, anEvent());
	const status = async () =>
		(await Promise.all([ada, bob].map(({ id }) => accounts.byId(id)))).map((one) => one?.instance_admin);

	test("the last enabled instance admin neither steps down nor is disabled, and no event says so", async () => {
		const start = await countEvents({ audit: store.audit });
		assert.equal(await setAdmin(ada, false), "last_admin");
		assert.equal(await setDisabled(ada, MADE_AT), "last_admin");
		assert.equal(await setAdmin({ id: "nobody" }, true), "no_user");
		assert.equal(await countEvents({ audit: store.audit }), start);
		assert.deepEqual(await status(), [true, false]);
	});

	test("one of two instance admins who step down at once stays", async () => {
		assert.equal(await setAdmin(bob, true), "done");
		assert.deepEqual(await status(), [true, true]);
		assert.deepEqual(await Promise.all([setAdmin(ada, false), setAdmin(bob, false)]), ["done", "last_admin"]);
		assert.deepEqual(await status(), [false, true]);
	});

	test("a disabled instance admin does not count, and may step down", async () => {
		assert.equal(await setAdmin(ada, true), "done");
		assert.equal(await setDisabled(ada, MADE_AT), "done");
		assert.equal(await setAdmin(bob, false), "last_admin");
		assert.equal(await setDisabled(bob, MADE_AT), "last_admin");
		assert.equal(await setAdmin(ada, false), "done");
		assert.equal(await setDisabled(ada, null), "done");
		assert.deepEqual(await status(), [false, true]);
	});
}
