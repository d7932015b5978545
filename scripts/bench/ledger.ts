/**
 * Ledgers with many leases. The server makes a credential at each target; one statement copies it in the ledger, with names, ids and
 * ends of the copies' own; an adoption gives them their MACs. So each row is as the server wrote it, without a request for each.
 */
import { join } from "node:path";
import { rowKeysOf } from "../../packages/server/src/crypto/first-keys.ts";
import { loadMasterKey } from "../../packages/server/src/crypto/master-key.ts";
import { adoptRows } from "../../packages/server/src/store/sqlite/adopt.ts";
import { openReader, openWriter } from "../../packages/server/src/store/sqlite/open.ts";
import { openSqliteStore } from "../../packages/server/src/store/sqlite/store.ts";
import { system } from "../../packages/server/src/system.ts";
import type { Redis } from "../../test/peers/redis.ts";
import { type Ask, ask, exchange } from "./exchange.ts";
import { configureKeyValue } from "./redis.ts";
import { settle } from "./resident.ts";
import { scratchFolder } from "./scratch.ts";
import { startSvc } from "./svc-server.ts";

/** A data directory with one open lease at each of several stores, each of them a target of its own. No server runs on it. */
export interface Ledger {
	readonly directory: string;
	/** Reads a secret, as a member of a realm. */
	readonly read: Ask;
	/** The leases, in the order of their stores. */
	readonly leases: readonly string[];
}

/** Leases to copy, number of copies, and their due times. */
export interface Copies {
	readonly leases: readonly string[];
	/** Copies of each lease. Their names are those of `copiedName`, from this number on. */
	readonly from: number;
	readonly count: number;
	/** They fall due one after the other within this time, in another order than that of their names. */
	readonly due: { readonly fromMs: number; readonly spanMs: number };
}

/** Fate of a copy. Unix milliseconds. */
export interface Fate {
	/** The lease that it copies. */
	readonly original: string;
	readonly dueMs: number;
	/** Start of its revocation; undefined when it has not begun. */
	readonly begunMs: number | undefined;
	/** End of its revocation; undefined while it is open. */
	readonly closedMs: number | undefined;
}

/** Characters of a lease's id that its copies share. */
const SHARED = 23;

/** Shares no factor with any number of copies in use, so its multiples name each of them once. */
const STRIDE = 7919;

/** Makes a ledger. The server's own rules and requests write all its content: a realm for each store, with a configuration and a lease. */
export async function makeLedger(stores: readonly Pick<Redis, "address" | "password">[]): Promise<Ledger> {
	const directory = scratchFolder();
	const server = await startSvc({ protocol: "http", data: directory });
	const { url } = server;
	const { token, slug, key } = await settle(url);
	const leases: string[] = [];
	for (const [at, store] of stores.entries()) {
		const own = `${slug}-${at}`;
		await ask(url, { method: "POST", path: "/api/v1/realms", token, body: { slug: own, name: own } });
		await configureKeyValue(url, token, store, own);
		leases.push(
			await generate(url, {
				method: "POST",
				path: `/api/v1/realms/${own}/engines/keyvalue/generate`,
				token,
				body: { ttl: "24h" },
			}),
		);
	}
	await server.stop();
	return { directory, leases, read: { method: "GET", path: `/api/v1/realms/${slug}/secrets/${key}`, token } };
}

async function generate(url: string, request: Ask): Promise<string> {
	const { status, headers } = await exchange(url, request);
	const [, lease] = headers.find(([name]) => name.toLowerCase() === "x-lease-id") ?? [];
	if (lease === undefined) throw new Error(`${request.method} ${request.path} is answered with ${status} and no lease`);
	return lease;
}

/** Name of a copy's user. */
export function copiedName(number: number): string {
	return `svc_${number.toString(16).padStart(8, "0")}`;
}

/** Copies leases, and adopts the copies: their rows get MACs as the server writes them. No server may run on the directory. */
export async function copyLeases({ directory }: Ledger, copies: Copies): Promise<void> {
	const file = join(directory, "svc.db");
	insertCopies(file, copies);
	const key = await masterKeyOf(directory);
	const event = { timestamp: system.now().toISOString(), type: "rows.adopted", actor: "system" } as const;
	adoptRows(file, (shared) => rowKeysOf(key, shared, system), { ...event, realm_id: "", realm: "", data: {} });
}

async function masterKeyOf(directory: string): Promise<Buffer> {
	const onFailure = (error: Error) => {
		throw error;
	};
	const { keys, close } = await openSqliteStore({ directory, now: system.now(), onFailure });
	const fingerprint = await keys.fingerprint();
	await close();
	const nowhere = { credentials_dir: undefined, master_key_file: undefined, master_key: undefined };
	return (await loadMasterKey({ ...nowhere, data_dir: directory }, fingerprint, system)).key.reveal();
}

function insertCopies(file: string, { leases, from, count, due }: Copies): void {
	const db = openWriter(file);
	// Nothing here must survive a power cut.
	db.pragma("synchronous = OFF");
	db.prepare(
		`WITH RECURSIVE copy (number, due_at) AS (
			SELECT 0, CAST(@first_ms AS INTEGER)
			UNION ALL SELECT number + 1, CAST(@first_ms + (number + 1) * ${STRIDE} % @count * @span_ms / @count AS INTEGER)
				FROM copy WHERE number + 1 < @count
		)
		INSERT INTO lease (id, engine, target, name, scope, realm_id, realm, config_id, config_realm_id, role, user_id, state, due_at,
			expires_at, fence, created_at, delivered_at)
		SELECT printf('%s-%012x', substr(id, 1, ${SHARED}), @from + number), engine, target, printf('svc_%08x', @from + number), scope, realm_id,
			realm, config_id, config_realm_id, role, user_id, state, copy.due_at, strftime('%Y-%m-%dT%H:%M:%fZ', copy.due_at / 1000.0, 'unixepoch'),
			fence, created_at, delivered_at
		FROM copy CROSS JOIN lease WHERE id IN (SELECT value FROM json_each(@leases))`,
	).run({ leases: JSON.stringify(leases), from, count, first_ms: due.fromMs, span_ms: due.spanMs });
	db.pragma("wal_checkpoint(TRUNCATE)");
	db.close();
}

/** Reads a ledger while a server runs on it. */
export interface Look {
	/** Counts the open leases at the targets of these ones. */
	countOpen(leases: readonly string[]): number;
	/** Fates of the copies with these numbers. */
	fates(copies: Pick<Copies, "from" | "count">): Fate[];
	close(): void;
}

/** Opens a ledger for reading. */
export function lookInto({ directory }: Ledger): Look {
	const db = openReader(join(directory, "svc.db"));
	// Each store has a realm and a configuration of its own.
	const open = db
		.prepare(
			`SELECT coalesce(sum(count), 0) FROM lease_count WHERE state IN ('intent', 'active', 'uncertain', 'revoking')
				AND config_realm_id IN (SELECT config_realm_id FROM lease WHERE id IN (SELECT value FROM json_each(?)))`,
		)
		.pluck();
	const begun = db.prepare(
		"SELECT json_extract(data, '$.lease_id') AS id, timestamp FROM audit_event WHERE type = 'lease.revoking'",
	);
	const copies = db.prepare("SELECT id, expires_at, closed_at FROM lease WHERE name BETWEEN ? AND ?");
	return {
		countOpen: (leases) => open.get(JSON.stringify(leases)) as number,
		fates({ from, count }) {
			const times = new Map(
				(begun.all() as { id: string; timestamp: string }[]).map(({ id, timestamp }) => [id, timestamp]),
			);
			const rows = copies.all(copiedName(from), copiedName(from + count - 1)) as Row[];
			return rows.map((row) => fateOf(row, times.get(row.id)));
		},
		close: () => void db.close(),
	};
}

type Row = { id: string; expires_at: string; closed_at: string | null };

function fateOf({ id, expires_at, closed_at }: Row, begun: string | undefined): Fate {
	const instant = (text: string | null | undefined) => (typeof text === "string" ? Date.parse(text) : undefined);
	return {
		original: id.slice(0, SHARED),
		dueMs: Date.parse(expires_at),
		begunMs: instant(begun),
		closedMs: instant(closed_at),
	};
}
