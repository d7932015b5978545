import assert from "node:assert/strict";
import { test } from "node:test";
import { ok } from "../harness/expect.ts";
import { getSecret, KEPT_KEY, startKeeper } from "./kept-secret.ts";
import { faultyCommand, skipWithoutStrace } from "./strace.ts";

const READERS = 64;
const READS_PER_READER = 30;
const SYNC_MS = 50;
/** Reads that have to be served by one sync; a commit for each read would make it one. */
const READS_PER_SYNC = 10;

test("on a slow disk many readers share a sync, and who needs no disk does not wait for it", {
	skip: skipWithoutStrace,
}, async (t) => {
	const { api, owner } = await startKeeper(t, {
		wrap: (command) => faultyCommand(command, `fsync:delay_enter=${SYNC_MS * 1000}`),
	});
	const start = performance.now();
	const unauditedMs: number[] = [];
	const finished = new AbortController();
	const unaudited = async () => {
		while (!finished.signal.aborted) {
			const asked = performance.now();
			ok(await api.get("/auth/providers"));
			unauditedMs.push(performance.now() - asked);
		}
	};
	const reader = async () => {
		for (let read = 0; read < READS_PER_READER; read += 1) ok(await getSecret(api, owner, KEPT_KEY));
	};
	const watcher = unaudited();
	await Promise.all(Array.from({ length: READERS }, reader));
	const syncs = (performance.now() - start) / SYNC_MS;
	finished.abort();
	await watcher;
	const readsPerSync = (READERS * READS_PER_READER) / syncs;
	assert.ok(readsPerSync > READS_PER_SYNC, `${readsPerSync.toFixed(1)} reads in the time of a sync`);
	const medianMs = unauditedMs.sort((a, b) => a - b)[Math.floor(unauditedMs.length / 2)] ?? Number.POSITIVE_INFINITY;
	assert.ok(medianMs < SYNC_MS, `a request that needs no disk took ${medianMs.toFixed(0)} ms`);
});
