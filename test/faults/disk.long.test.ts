import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pass } from "node:timers/promises";
import { createCli } from "../harness/cli.ts";
import type { Answer, Api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { secretPath } from "../harness/fixtures.ts";
import { assertChainIntact, getSecret, KEPT_KEY, KEPT_VALUE, setSecret, startKeeper } from "./kept-secret.ts";
import type { Owner } from "./owner.ts";
import { injectFault, skipWithoutStrace } from "./strace.ts";

const RECOVERY_TIMEOUT_MS = 120_000;
const RECOVERY_PAUSE_MS = 50;
/** Milliseconds after which an account has its requests of another second. */
const NEXT_SECOND_MS = 1100;

/** Requests that a server which cannot write must refuse: every mutation, and every read that has to be audited. */
const NEEDS_THE_DISK: Record<string, (api: Api, owner: Owner) => Promise<Answer>> = {
	"write of a secret": (api, owner) => setSecret(api, owner, KEPT_KEY, "new"),
	"write of another secret": (api, owner) => setSecret(api, owner, "other", "new"),
	"read of a secret": (api, owner) => getSecret(api, owner, KEPT_KEY),
	"list of secrets": (api, { slug, token }) => api.get(`/realms/${slug}/secrets`, { token }),
	"operator-sync of a secret": (api, { slug, token }) => api.get(`/eso/${slug}/${KEPT_KEY}?env=dev`, { token }),
	"operator-sync of a realm": (api, { slug, token }) => api.get(`/eso/${slug}?env=dev`, { token }),
	"deletion of a secret": (api, { slug, token }) => api.delete(secretPath(slug, KEPT_KEY), { token }),
	encryption: (api, { token }) => api.post("/encrypt", { value: KEPT_VALUE }, { token }),
	"a new realm": (api, { token }) => api.post("/realms", { slug: "too-late", name: "Too late" }, { token }),
	"deletion of the realm": (api, { slug, token }) => api.delete(`/realms/${slug}`, { token }),
	login: (api, { admin }) => api.post("/auth/login", { email: admin.email, password: admin.password }),
};

test("a full disk gives 503, no value and no half change, and passes without a restart", {
	skip: skipWithoutStrace,
}, async (t) => {
	const { run, api, owner } = await startKeeper(t);
	const { lift } = await injectFault(run.pid, "pwrite64:error=ENOSPC");
	await assertRefusesAll(api, owner);
	await assertCommandSaysSo(run.url, owner);
	await lift();
	await assertRecovered(api, owner);
});

test("a disk that fills up anywhere in a commit keeps all of it or nothing", { skip: skipWithoutStrace }, async (t) => {
	const { run, api, owner } = await startKeeper(t);
	let kept = { version: 1, value: KEPT_VALUE };
	for (let call = 1; call <= 8; call += 1) {
		const value = `value ${call}`;
		const { lift } = await injectFault(run.pid, `pwrite64:error=ENOSPC:when=${call}+`);
		const answer = await setSecret(api, owner, KEPT_KEY, value);
		await lift();
		if (answer.status === 201) kept = { version: kept.version + 1, value };
		else refused(answer, 503, "unhealthy");
		const { version, value: found } = ok(await untilRecovered(() => getSecret(api, owner, KEPT_KEY)));
		assert.deepEqual({ version, value: found }, kept, `call ${call} failed, the answer was ${answer.status}`);
	}
	await assertChainIntact(api, owner);
});

const skipWithoutMount =
	spawnSync("unshare", ["--mount", "true"]).status === 0 ? false : "a small disk can only be mounted by root";

test("a file system without a free block does what the injected error does", { skip: skipWithoutMount }, async (t) => {
	const mount = 'mount -t tmpfs -o size=16m,mode=700 none "$SVC_DATA_DIR" && exec "$@"';
	const { run, data, api, owner } = await startKeeper(t, {
		wrap: (command) => ["unshare", "--mount", "sh", "-c", mount, "sh", ...command],
	});
	// Only the server sees the mounted disk; this path leads to its data directory from here.
	const ballast = join(`/proc/${run.pid}/root`, data, "ballast");
	fillDisk(ballast);
	await useUpLog(api, owner);
	await assertRefusesAll(api, owner);
	rmSync(ballast);
	await assertRecovered(api, owner);
});

/** Writes until the log has no room of its own either: one that was started over keeps its file, in which writes are rightly done. */
async function useUpLog(api: Api, owner: Owner): Promise<void> {
	const writes = [
		() => setSecret(api, owner, "large", "x".repeat(60_000)),
		() => setSecret(api, owner, "small", "x"),
		() => getSecret(api, owner, KEPT_KEY),
	];
	for (const write of writes)
		for (let answer = await write(); answer.status !== 503; answer = await write()) {
			// An account has 20 requests a second while the disk is nearly full.
			if (answer.status === 429) await pass(NEXT_SECOND_MS);
		}
	await pass(NEXT_SECOND_MS);
}

test("a disk that fills up shows in health before the first write fails, and slows down each account by itself", {
	skip: skipWithoutMount,
}, async (t) => {
	const mount = 'mount -t tmpfs -o size=64m,mode=700 none "$SVC_DATA_DIR" && exec "$@"';
	const { run, data, api, owner } = await startKeeper(t, {
		wrap: (command) => ["unshare", "--mount", "sh", "-c", mount, "sh", ...command],
	});
	const health = async () => (await api.get<{ checks: { database: string } }>("/health")).body.checks.database;
	const reads = async () => {
		await pass(NEXT_SECOND_MS);
		const answers = await Promise.all(Array.from({ length: 60 }, () => getSecret(api, owner, KEPT_KEY)));
		return Map.groupBy(answers, ({ status }) => status);
	};
	const ballast = join(`/proc/${run.pid}/root`, data, "ballast");
	const fill = (free_mib: number) => {
		const { bavail, bsize } = statfsSync(join(ballast, ".."));
		appendFileSync(ballast, Buffer.alloc(bavail * bsize - free_mib * 1024 * 1024));
	};
	assert.equal((await reads()).get(200)?.length, 60);
	fill(8);
	const answers = await reads();
	assert.ok((answers.get(200)?.length ?? 0) <= 40, "20 a second");
	const [slowed, ...more] = answers.get(429) ?? [];
	assert.ok(slowed && more.length >= 19);
	refused(slowed, 429, "rate_limited");
	assert.match(slowed.text, /15 %/);
	assert.equal(slowed.headers["retry-after"], "1");
	assert.equal(await health(), "healthy");
	fill(2);
	await eventually("health shows it", async () => (await health()) === "unhealthy");
	ok(await setSecret(api, owner, KEPT_KEY, "a write that still fits"), 201);
	rmSync(ballast);
	await eventually("health shows the room", async () => (await health()) === "healthy");
	assert.equal((await reads()).get(200)?.length, 60);
});

/** Checks the command's output at that moment. */
async function assertCommandSaysSo(url: string, { token, slug }: Owner): Promise<void> {
	const cli = await createCli({ url, ca: "" }, { token });
	const { code, stdout, stderr } = await cli.run(["secret", "get", KEPT_KEY, "--realm", slug]);
	await cli.close();
	assert.deepEqual([code, stdout], [5, ""]);
	assert.match(stderr, /^svc: [^\n]+\bdisk\b[^\n]+\n$/);
}

async function assertRefusesAll(api: Api, owner: Owner): Promise<void> {
	for (const [what, ask] of Object.entries(NEEDS_THE_DISK)) {
		const answer = await ask(api, owner);
		assert.equal(answer.status, 503, `${what}: ${answer.text}`);
		refused(answer, 503, "unhealthy");
		assert.ok(!answer.text.includes(KEPT_VALUE), `${what} answered the value`);
	}
	const health = await api.get<{ status: string }>("/health");
	assert.equal(health.status, 503);
	assert.equal(health.body.status, "unhealthy");
}

async function assertRecovered(api: Api, owner: Owner): Promise<void> {
	const { value, version } = ok(await untilRecovered(() => getSecret(api, owner, KEPT_KEY)));
	assert.deepEqual({ value, version }, { value: KEPT_VALUE, version: 1 });
	assert.equal(ok(await setSecret(api, owner, KEPT_KEY, "new"), 201).version, 2);
	assert.equal((await getSecret(api, owner, "other")).status, 404);
	assert.equal((await api.get("/realms/too-late", { token: owner.token })).status, 404);
	ok(await untilRecovered(() => api.get("/health")));
	await assertChainIntact(api, owner);
}

/** Asks until the answer is no longer a 503; returns the last one when the time is up. */
async function untilRecovered<T>(ask: () => Promise<Answer<T>>): Promise<Answer<T>> {
	const deadline = Date.now() + RECOVERY_TIMEOUT_MS;
	let answer = await ask();
	while (answer.status === 503 && Date.now() < deadline) {
		await pass(RECOVERY_PAUSE_MS);
		answer = await ask();
	}
	return answer;
}

function fillDisk(file: string): void {
	const descriptor = openSync(file, "w", 0o600);
	try {
		for (;;) writeSync(descriptor, Buffer.alloc(4096));
	} catch (error) {
		assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
	} finally {
		closeSync(descriptor);
	}
}
