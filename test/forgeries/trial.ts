import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { mock } from "node:test";
import { FatalError, readConfig, startServer } from "../../packages/server/src/main.ts";
import { openSqliteStore } from "../../packages/server/src/store/sqlite/store.ts";
import { BUILT_IN } from "../../packages/svc/src/built-in-engines.ts";
import { plainApi } from "../faults/plain-api.ts";
import type { Api } from "../harness/client.ts";
import { askTheDead, askTheLiving } from "./probes.ts";
import type { ForgedWorld } from "./world.ts";

/** A change of a stopped server's files by a program with SQLite alone, which knows the schema and lacks the keys. */
export interface Forgery {
	readonly name: string;
	/** Changes the database; `kept` is attached: the same database at an earlier time. */
	apply?(database: DatabaseSync): void;
	/** Changes the files of the data directory, once the database is closed. @param before the data directory at an earlier time */
	replace?(data: string, before: string): void;
}

/** How a start over altered files ended: `refused` when it did not listen, or ended by itself, `altered` when nothing is believed, `noticed` when health, verification or doctor says so. */
export type Outcome = "refused" | "altered" | "noticed" | "unnoticed";

/** Name of the earlier database in a forgery's SQL. */
export const KEPT = "kept";

/** Copies the honest data directory and alters the copy. The caller removes it. */
export function forge({ root, honest, before }: ForgedWorld, forgeries: readonly Forgery[]): string {
	const data = mkdtempSync(join(root, "forged-"));
	assert.equal(spawnSync("cp", ["-a", `${honest}/.`, data]).status, 0);
	const options = { defensive: false, enableForeignKeyConstraints: false };
	const database = new DatabaseSync(join(data, "svc.db"), options);
	database.exec(`PRAGMA ignore_check_constraints = ON; ATTACH '${join(before, "svc.db")}' AS ${KEPT}`);
	for (const { apply } of forgeries) apply?.(database);
	database.close();
	for (const { replace } of forgeries) replace?.(data, before);
	return data;
}

/** Starts the server in this process over an altered copy, and sees that nothing of it is believed. */
export async function tryForgery(world: ForgedWorld, ...forgeries: Forgery[]): Promise<Outcome> {
	const data = forge(world, forgeries);
	try {
		return await withServerOver(data, (api) => judge(world, api));
	} finally {
		rmSync(data, { recursive: true });
	}
}

/** Starts the server in this process over files, and asks it. @returns `refused` when it did not listen, or ended by itself */
export async function withServerOver<Found>(
	data: string,
	ask: (api: Api) => Promise<Found>,
): Promise<Found | "refused"> {
	let hasFailed = false;
	const onFailure = () => {
		hasFailed = true;
	};
	const openStore: typeof openSqliteStore = (options) => openSqliteStore({ ...options, onFailure });
	const env = { SVC_DATA_DIR: data, SVC_LISTEN: "127.0.0.1:0", SVC_TLS_MODE: "off", SVC_LOG_LEVEL: "error" };
	const stderr = mock.method(process.stderr, "write", () => true);
	try {
		const running = await startServer(readConfig(env, data), BUILT_IN, { openStore });
		try {
			const found = await ask(plainApi(running.url));
			return hasFailed ? "refused" : found;
		} finally {
			await running.stop();
		}
	} catch (error) {
		if (error instanceof FatalError) return "refused";
		throw error;
	} finally {
		stderr.mock.restore();
	}
}

/**
 * Asks a server over altered files.
 * @throws AssertionError when something that ended works, something valid is hidden, or a verification says nothing of what health notices
 */
export async function judge(world: ForgedWorld, api: Api): Promise<Outcome> {
	const { token } = world.people.root;
	await askTheDead(world, api);
	await askTheLiving(world, api);
	const health = await api.get<{ checks: { database: string } }>("/health");
	const answer = await api.get<{ status: string }>("/audit/verify", { token });
	if (answer.status === 503 && /database_altered/.test(answer.text)) return "altered";
	// A crash says nothing.
	assert.ok(answer.status === 200 || answer.status === 503, `the verification answers ${answer.text}`);
	if (answer.status !== 200 || answer.body.status !== "intact") return "noticed";
	assert.ok(health.status === 200 || health.body.checks.database === "healthy", "health alone notices it");
	const failed = await failures(api, token);
	assert.ok(!failed.includes("sealed"), "the verification opens what is sealed, too");
	return failed.length > 0 ? "noticed" : "unnoticed";
}

/** Names the failed checks of a doctor who reads everything. */
export async function failures(api: Api, token: string): Promise<string[]> {
	const { body } = await api.get<{ checks: { name: string; status: string }[] }>("/doctor?deep=true", { token });
	return body.checks.filter(({ status }) => status === "failed").map(({ name }) => name);
}
