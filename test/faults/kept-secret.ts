import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pass } from "node:timers/promises";
import type { Answer, Api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { newOwner, type Owner } from "./owner.ts";
import { plainApi } from "./plain-api.ts";
import { type Run, type RunOptions, runServer } from "./process.ts";

/** The key of the secret that each of these servers holds. */
export const KEPT_KEY = "kept";

/** Its value, which the server must never answer when it cannot audit the read. */
export const KEPT_VALUE = "the value that must not be answered";

const LONG_BYTES = 250_000;

/** More than one move takes. */
const MOVED_BYTES = 4 * 1024 * 1024;
const MOST_LONG_WRITES = 150;

const EXIT_TIMEOUT_MS = 120_000;

/** A server that holds one secret, version 1 of KEPT_KEY. */
export interface Keeper {
	readonly data: string;
	readonly owner: Owner;
	/** The newest process. */
	readonly run: Run;
	/** A client of the newest process. */
	readonly api: Api;
	/** Restarts the server on the same data after it has ended. */
	restart(): Promise<void>;
}

/** Starts a server on an empty folder and stores the secret; the end of the test removes both. */
export async function startKeeper(t: TestContext, options: Omit<RunOptions, "data"> = {}): Promise<Keeper> {
	const data = await mkdtemp(join(tmpdir(), "svc-fault-"));
	let run = await runServer({ data, ...options });
	t.after(async () => {
		await run.kill("SIGKILL");
		await rm(data, { recursive: true });
	});
	let api = plainApi(run.url);
	const owner = await newOwner(api);
	ok(await setSecret(api, owner, KEPT_KEY, KEPT_VALUE), 201);
	return {
		data,
		owner,
		get run() {
			return run;
		},
		get api() {
			return api;
		},
		restart: async () => {
			await run.ended;
			run = await runServer({ data, ...options });
			api = plainApi(run.url);
		},
	};
}

/** Writes a secret in the owner's realm. */
export function setSecret(api: Api, { slug, token }: Owner, key: string, value: string): Promise<Answer<Secret>> {
	return api.post<Secret>(`/realms/${slug}/secrets`, { key, value }, { token });
}

/** Returns a value that takes some sixty pages of the log. */
export function longValue(key: string): string {
	return `value of ${key}`.padEnd(LONG_BYTES, ".");
}

/** Writes long secrets until much of the log is in the database. Returns their keys. */
export async function writeUntilMoved({ api, owner, data }: Keeper): Promise<string[]> {
	const sizeOf = async () => (await stat(join(data, "svc.db"))).size;
	const [before, keys] = [await sizeOf(), [] as string[]];
	while ((await sizeOf()) < before + MOVED_BYTES) {
		assert.ok(keys.length < MOST_LONG_WRITES, "nothing is moved");
		const key = `long-${keys.length}`;
		ok(await setSecret(api, owner, key, longValue(key)), 201);
		keys.push(key);
	}
	return keys;
}

/** Reads a secret of the owner's realm. */
export function getSecret(api: Api, { slug, token }: Owner, key: string): Promise<Answer<Secret>> {
	return api.get<Secret>(secretPath(slug, key), { token });
}

/** Fails unless the audit chain verifies. */
export async function assertChainIntact(api: Api, { admin }: Owner): Promise<void> {
	const { status } = ok(await api.get<{ status: string }>("/audit/verify", { token: admin.token }));
	assert.equal(status, "intact");
}

/** Returns the exit code of a server that is expected to end; fails when it runs for two more minutes. */
export async function exitCode(run: Run): Promise<number | null> {
	const patience = new AbortController();
	const timeout = pass(EXIT_TIMEOUT_MS, undefined, { signal: patience.signal });
	const ending = await Promise.race([run.ended, timeout.catch(() => undefined)]);
	patience.abort();
	assert.ok(ending, "the server goes on");
	return ending.code;
}
