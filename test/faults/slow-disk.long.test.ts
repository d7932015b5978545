import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ok } from "../harness/expect.ts";
import { getSecret, KEPT_KEY, startKeeper } from "./kept-secret.ts";
import { faultyCommand, skipWithoutStrace } from "./strace.ts";

const READERS = 64;
const READS_PER_READER = 30;
const SYNC_MS = 50;
/** Reads that one sync must serve; a commit for each read would make it one. */
const READS_PER_SYNC = 10;

test("on a slow disk many readers share a sync, and who needs no disk does not wait for it", {
	skip: skipWithoutStrace,
}, async (t) => {
	const folder = await mkdtemp(join(tmpdir(), "svc-slow-disk-"));
	t.after(() => rm(folder, { recursive: true }));
	const log = join(folder, "syncs");
	const { api, owner, run } = await startKeeper(t, {
		wrap: (command) => faultyCommand(command, `fsync:delay_enter=${SYNC_MS * 1000}`, log),
	});
	const finished = new AbortController();
	const unaudited: number[] = [];
	const audited: number[] = [];
	const watcher = (async () => {
		while (!finished.signal.aborted) unaudited.push(await duration(() => api.get("/auth/providers").then(ok)));
	})();
	const reader = async () => {
		for (let read = 0; read < READS_PER_READER; read += 1)
			audited.push(await duration(() => getSecret(api, owner, KEPT_KEY).then(ok)));
	};
	await Promise.all(Array.from({ length: READERS }, reader));
	finished.abort();
	await watcher;
	// Both depend on the speed of this machine; only an audited read waits for the disk, too.
	const [with_ms, without_ms] = [median(audited), median(unaudited)];
	assert.ok(with_ms - without_ms > SYNC_MS / 2, `${with_ms} ms with the disk, ${without_ms} ms without it`);
	await run.kill("SIGTERM");
	const syncs = (await readFile(log, "latin1")).match(/\bfsync\(/g)?.length ?? 0;
	const readsPerSync = (READERS * READS_PER_READER) / syncs;
	assert.ok(readsPerSync > READS_PER_SYNC, `${readsPerSync.toFixed(1)} reads for each of ${syncs} syncs`);
});

/** Returns the milliseconds that the request takes. */
async function duration(ask: () => Promise<unknown>): Promise<number> {
	const asked = performance.now();
	await ask();
	return performance.now() - asked;
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
