import assert from "node:assert/strict";
import { test } from "node:test";
import { ok } from "../harness/expect.ts";
import { getSecret, KEPT_KEY, startKeeper } from "./kept-secret.ts";
import { skipWithoutStrace } from "./strace.ts";

const READERS = 64;
const READS_PER_READER = 30;
const SYNC_DELAY_MICROSECONDS = 50_000;

test("a disk that needs 50 ms for a sync still serves 500 audited reads a second to 64 readers", {
	skip: skipWithoutStrace,
}, async (t) => {
	const delay = `fsync:delay_enter=${SYNC_DELAY_MICROSECONDS}`;
	const { api, owner } = await startKeeper(t, {
		wrap: (command) => [
			"strace",
			"-f",
			"--seccomp-bpf",
			"-qq",
			"-e",
			"trace=fsync",
			"-e",
			`inject=${delay}`,
			"-o",
			"/dev/null",
			"--",
			...command,
		],
	});
	const start = performance.now();
	let worstUnauditedMs = 0;
	const finished = new AbortController();
	const unaudited = async () => {
		while (!finished.signal.aborted) {
			const asked = performance.now();
			ok(await api.get("/auth/providers"));
			worstUnauditedMs = Math.max(worstUnauditedMs, performance.now() - asked);
		}
	};
	const reader = async () => {
		for (let read = 0; read < READS_PER_READER; read += 1) ok(await getSecret(api, owner, KEPT_KEY));
	};
	const watcher = unaudited();
	await Promise.all(Array.from({ length: READERS }, reader));
	const seconds = (performance.now() - start) / 1000;
	finished.abort();
	await watcher;
	const perSecond = (READERS * READS_PER_READER) / seconds;
	assert.ok(perSecond > 500, `${perSecond.toFixed(0)} reads a second`);
	assert.ok(worstUnauditedMs < 50, `a request that needs no disk took ${worstUnauditedMs.toFixed(0)} ms`);
});
