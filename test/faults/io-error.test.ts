import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { assertChainIntact, getSecret, type Keeper, setSecret, startKeeper } from "./kept-secret.ts";
import { injectFault, skipWithoutStrace } from "./strace.ts";

/** EX_IOERR: what systemd and people see. Design: §4. */
const STORAGE_EXIT_CODE = 74;
const WRITES = 8;

/**
 * A sync that fails once is followed by syncs that succeed, although the pages of the failed one may be gone from memory and disk:
 * a server that goes on would answer for writes that are lost.
 */
for (const fault of [
	"fsync:error=EIO:when=1",
	"fsync:error=EIO:when=2",
	"fsync:error=EIO:when=3",
	"pwrite64:error=EIO:when=2",
]) {
	test(`${fault}: nothing is answered after it, the exit code is 74, a restart recovers`, {
		skip: skipWithoutStrace,
	}, async (t) => {
		const keeper = await startKeeper(t);
		await injectFault(keeper.run.pid, fault);
		const answered: string[] = [];
		let isAnswering = true;
		for (let write = 1; write <= WRITES; write += 1) {
			const key = `after-${write}`;
			const answer = await unlessGone(() => setSecret(keeper.api, keeper.owner, key, `value of ${key}`));
			if (answer?.status === 201) answered.push(key);
			assert.ok(isAnswering || answer?.status !== 201, `${key} was answered after a failed write`);
			isAnswering = answer?.status === 201;
		}
		assert.equal(isAnswering, false, "the fault stopped the server");
		assert.equal((await keeper.run.ended).code, STORAGE_EXIT_CODE);
		await assertKeptAfterRestart(keeper, answered);
	});
}

test("eight writers at once get no answer out of a commit whose sync failed", {
	skip: skipWithoutStrace,
}, async (t) => {
	const keeper = await startKeeper(t);
	await injectFault(keeper.run.pid, "fsync:error=EIO");
	const keys = Array.from({ length: 8 }, (_, writer) => `writer-${writer}`);
	const answers = await Promise.all(
		keys.map((key) => unlessGone(() => setSecret(keeper.api, keeper.owner, key, `value of ${key}`))),
	);
	assert.deepEqual(
		answers.filter((answer) => answer?.status === 201),
		[],
	);
	assert.equal((await keeper.run.ended).code, STORAGE_EXIT_CODE);
	await assertKeptAfterRestart(keeper, []);
});

/** The answer, or undefined when the connection broke or could not be made. */
async function unlessGone<T>(ask: () => Promise<Answer<T>>): Promise<Answer<T> | undefined> {
	return ask().catch(() => undefined);
}

async function assertKeptAfterRestart(keeper: Keeper, keys: string[]): Promise<void> {
	await keeper.restart();
	const { api, owner } = keeper;
	for (const key of keys) assert.equal(ok(await getSecret(api, owner, key)).value, `value of ${key}`);
	await assertChainIntact(api, owner);
}
