import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { createTestThrottle } from "../testing/throttle.ts";

const HERE = "192.0.2.1";

/** A throttle that knows nobody, or everybody, with the use and the refusals of a limit. */
function setUp(isKnown = false) {
	const throttle = createTestThrottle({ knows: async () => isKnown });
	const queue = { run: <T>(_: unknown, check: () => Promise<T>) => check() };
	const fail = (account: string, ip: string) => throttle.attempt(queue, account, ip, async (failed) => failed());
	const shown = async (name: string) => {
		const limit = throttle.limits.find((one) => one.name === name);
		return [await limit?.used(), limit?.max, limit?.refused?.()];
	};
	return { fail, shown };
}

const refusedBy = (limit: string) => (error: unknown) =>
	error instanceof AppError && error.code === "rate_limited" && error.message.includes(`(${limit})`);

for (const isKnown of [false, true]) {
	test(`failed logins of ${isKnown ? "a known" : "an unknown"} pair are a limit that shows once it is reached`, async () => {
		const name = "failed_logins_per_account_and_source";
		const { fail, shown } = setUp(isKnown);
		for (let count = 0; count < 4; count++) await fail("ada", HERE);
		assert.deepEqual(await shown(name), [0, 5, 0]);
		await fail("ada", HERE);
		assert.deepEqual(await shown(name), [5, 5, 0]);
		await assert.rejects(fail("ada", HERE), refusedBy(name));
		assert.deepEqual(await shown(name), [5, 5, 1]);
	});
}

test("failed logins of a source are a limit, and so are those of an account", async () => {
	const source = setUp();
	for (let count = 0; count < 50; count++) await source.fail(`account ${count}`, HERE);
	assert.deepEqual(await source.shown("failed_logins_per_source"), [50, 50, 0]);
	assert.deepEqual(await source.shown("failed_logins_per_account"), [1, 100, 0]);
	await assert.rejects(source.fail("ada", HERE), refusedBy("failed_logins_per_source"));
	assert.deepEqual(await source.shown("failed_logins_per_source"), [50, 50, 1]);
	const account = setUp();
	for (let count = 0; count < 100; count++) await account.fail("ada", `192.0.2.${count}`);
	await assert.rejects(account.fail("ada", "198.51.100.1"), refusedBy("failed_logins_per_account"));
	assert.deepEqual(await account.shown("failed_logins_per_account"), [100, 100, 1]);
});
