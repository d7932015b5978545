import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ok } from "../../harness/expect.ts";
import { secretPath } from "../../harness/fixtures.ts";
import type { Secret } from "../../harness/resources.ts";
import type { Owner } from "../owner.ts";
import { plainApi } from "../plain-api.ts";
import { runServer } from "../process.ts";
import { type Promised, promised } from "./acknowledgements.ts";
import type { Crash } from "./crashes.ts";
import type { Written } from "./traffic.ts";

/** Inspects the files alone; returns the first error, or undefined when everything promised is there. */
export function findLoss(crash: Crash, masterKey: Buffer): string | undefined {
	const file = join(crash.folder, "svc.db");
	const promises = crash.acked.map(promised);
	if (!existsSync(file)) return promises.length > 0 ? "the database is gone" : undefined;
	const database = new DatabaseSync(file);
	try {
		// The image is thrown away, so a sync would only cost time.
		database.exec("PRAGMA synchronous = OFF");
		const verdict = database.prepare("PRAGMA quick_check").get()?.quick_check;
		if (verdict !== "ok") return `quick_check: ${verdict}`;
		const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'audit_event'").get() === undefined;
		if (isEmpty) return promises.length > 0 ? "the tables are gone" : undefined;
		return (
			findLostKey(database, crash.folder, masterKey) ?? findLostPromise(database, promises) ?? findHalfChange(database)
		);
	} catch (error) {
		return `the database cannot be read: ${String(error)}`;
	} finally {
		database.close();
	}
}

function findLostKey(database: DatabaseSync, folder: string, masterKey: Buffer): string | undefined {
	const isSealed = database.prepare("SELECT 1 FROM keyring").get() !== undefined;
	const file = join(folder, "master.key");
	if (isSealed && !(existsSync(file) && readFileSync(file).equals(masterKey))) return "the master key is gone";
	return undefined;
}

function findLostPromise(database: DatabaseSync, promises: Promised[]): string | undefined {
	const { count, last } = database.prepare("SELECT count(*) AS count, max(seq) AS last FROM audit_event").get() ?? {};
	if (count !== (last ?? 0)) return `${count} events, the last one has number ${last}`;
	const rows = database
		.prepare("SELECT data ->> 'request_id' AS id, data ->> 'version' AS version FROM audit_event")
		.all();
	const events = new Map(rows.map(({ id, version }) => [id, version]));
	const current = database.prepare("SELECT version FROM secret WHERE environment = ? AND key = ?");
	for (const { requestId, key, environment, version } of promises) {
		if (!events.has(requestId)) return `the event of answered request ${requestId} is gone`;
		if (key === undefined || environment === undefined || version === undefined) continue;
		if (events.get(requestId) !== version) return `the event of ${key} version ${version} has another version`;
		const found = Number(current.get(environment, key)?.version ?? 0);
		if (found < version) return `${key} was answered with version ${version} and is at version ${found}`;
	}
	return undefined;
}

/** Rows of a change and the event that describes it: written in one transaction, so their numbers must always match. */
const HALVES: Record<string, string> = {
	"SELECT count(*) FROM account": "auth.register",
	"SELECT count(*) FROM api_token": "auth.token.created",
	"SELECT count(*) FROM realm": "realm.created",
	"SELECT coalesce(sum(version), 0) FROM secret": "secret.set",
};

function findHalfChange(database: DatabaseSync): string | undefined {
	for (const [count, type] of Object.entries(HALVES)) {
		const both = `SELECT (${count}) AS changes, (SELECT count(*) FROM audit_event WHERE type = ?) AS events`;
		const { changes, events } = database.prepare(both).get(type) ?? {};
		if (changes !== events) return `${changes} changes and ${events} events of ${type}`;
	}
	return undefined;
}

/** Starts a server on the image; returns its first wrong answer, or undefined when all are right. */
export async function findWrongAnswer(crash: Crash, owner: Owner, written: Written): Promise<string | undefined> {
	let run: Awaited<ReturnType<typeof runServer>>;
	try {
		run = await runServer({ data: crash.folder });
	} catch (error) {
		return String(error);
	}
	try {
		return await findWrongValue(run.url, crash, owner, written);
	} finally {
		await run.kill("SIGKILL");
	}
}

async function findWrongValue(url: string, crash: Crash, owner: Owner, written: Written): Promise<string | undefined> {
	const api = plainApi(url);
	const keys = new Set(crash.acked.flatMap((id) => promised(id).key ?? []));
	for (const key of keys) {
		const answer = await api.get<Secret>(secretPath(owner.slug, key), { token: owner.token });
		if (answer.status === 404) continue;
		const { value, version } = ok(answer);
		if (written.get(`${key} ${version}`) !== value) return `${key} version ${version} has another value`;
	}
	if (keys.size === 0) return undefined;
	const { status } = ok(await api.get<{ status: string }>("/audit/verify", { token: owner.admin.token }));
	return status === "intact" ? undefined : `the audit chain is ${status}`;
}
