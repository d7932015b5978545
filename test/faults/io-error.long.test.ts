import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Answer } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import {
	assertChainIntact,
	exitCode,
	getSecret,
	type Keeper,
	longValue,
	setSecret,
	startKeeper,
	writeUntilMoved,
} from "./kept-secret.ts";
import { assertRefusal, refusedStart, runServer } from "./process.ts";
import { faultyCommand, injectFault, skipWithoutStrace } from "./strace.ts";

/** EX_IOERR, which systemd and people see. Design: §4. */
const STORAGE_EXIT_CODE = 74;
const WRITES = 8;
/** Twice the number that makes the log so long that the writer moves the last of it. */
const MOST_LONG_WRITES = 250;

/**
 * After one failed sync the next ones succeed, although memory and disk may have lost the pages of the failed one:
 * a server that goes on would confirm writes that are lost.
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
		assert.equal(await exitCode(keeper.run), STORAGE_EXIT_CODE);
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
	assert.equal(await exitCode(keeper.run), STORAGE_EXIT_CODE);
	await assertKeptAfterRestart(keeper, []);
});

test("a failed sync of the database during a checkpoint ends the server too", {
	skip: skipWithoutStrace,
}, async (t) => {
	const keeper = await startKeeper(t);
	const answered = await writeUntilMoved(keeper);
	// The database is synced once all of the log is in it: after a move without concurrent writes, or at the latest by the writer itself.
	await injectFault(keeper.run.pid, "fsync:error=EIO:when=1", join(keeper.data, "svc.db"));
	let isAnswering = true;
	for (let write = 1; isAnswering && write <= MOST_LONG_WRITES; write += 1) {
		const key = `after-${write}`;
		isAnswering = (await unlessGone(() => setSecret(keeper.api, keeper.owner, key, longValue(key))))?.status === 201;
		if (isAnswering) answered.push(key);
	}
	assert.equal(isAnswering, false, "the fault stopped the server");
	assert.equal(await exitCode(keeper.run), STORAGE_EXIT_CODE);
	await keeper.restart();
	for (const key of answered) assert.equal(ok(await getSecret(keeper.api, keeper.owner, key)).value, longValue(key));
});

test("a database that cannot be read gives no 404 and no 200, and ends the server", {
	skip: skipWithoutStrace,
}, async (t) => {
	const keeper = await startKeeper(t);
	const { slug, token } = keeper.owner;
	ok(await setSecret(keeper.api, keeper.owner, "long", longValue("long")), 201);
	await injectFault(keeper.run.pid, "pread64:error=EIO");
	for (const path of [`/eso/${slug}/long?env=dev`, `/eso/${slug}?env=dev`, `/realms/${slug}/secrets/long`]) {
		const answer = await unlessGone(() => keeper.api.get(path, { token }));
		if (answer !== undefined) assert.equal(answer.status, 503, `${path}: ${answer.text.slice(0, 200)}`);
	}
	assert.equal(await exitCode(keeper.run), STORAGE_EXIT_CODE);
	await assertKeptAfterRestart(keeper, []);
});

for (const call of [1, 5]) {
	test(`a start whose sync ${call} fails says so in a sentence and ends with 74, the next one works`, {
		skip: skipWithoutStrace,
	}, async (t) => {
		const folder = await mkdtemp(join(tmpdir(), "svc-fault-"));
		t.after(() => rm(folder, { recursive: true }));
		// The first start of the single binary also writes and syncs its native libraries.
		const env = { XDG_CACHE_HOME: join(folder, "cache") };
		const other = await runServer({ data: await mkdtemp(join(folder, "other-")), env });
		await other.kill("SIGKILL");
		const data = await mkdtemp(join(folder, "data-"));
		const wrap = (command: string[]) => faultyCommand(command, `fsync:error=EIO:when=${call}`);
		const ending = await refusedStart({ data, env, wrap });
		assertRefusal(ending, /disk/);
		assert.equal(ending.code, STORAGE_EXIT_CODE);
		const run = await runServer({ data, env });
		await run.kill("SIGKILL");
	});
}

/** Returns the answer, or undefined when the connection broke or could not be made. */
async function unlessGone<T>(ask: () => Promise<Answer<T>>): Promise<Answer<T> | undefined> {
	return ask().catch(() => undefined);
}

async function assertKeptAfterRestart(keeper: Keeper, keys: string[]): Promise<void> {
	await keeper.restart();
	const { api, owner } = keeper;
	for (const key of keys) assert.equal(ok(await getSecret(api, owner, key)).value, `value of ${key}`);
	await assertChainIntact(api, owner);
}
