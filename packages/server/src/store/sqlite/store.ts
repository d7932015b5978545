import { join } from "node:path";
import { GENESIS } from "../../audit/chain.ts";
import type { AuditEvent } from "../../audit/model.ts";
import type { FatalError } from "../../errors.ts";
import type { Store } from "../store.ts";
import { copyDatabase } from "./copies.ts";
import { drizzle } from "./drizzle.ts";
import { lockDataDirectory } from "./files.ts";
import { createMemory } from "./memory.ts";
import { pendingMigration } from "./migrate.ts";
import { openReader, type Synchronous } from "./open.ts";
import { LongReader } from "./reader.ts";
import { createReading, type Reading } from "./reading.ts";
import { accountReads } from "./reads/accounts.ts";
import { engineReads } from "./reads/engines.ts";
import { keyReads } from "./reads/keys.ts";
import { leaseReads } from "./reads/leases.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { restoreReads } from "./reads/restores.ts";
import { secretReads } from "./reads/secrets.ts";
import { ssoReads } from "./reads/sso.ts";
import { tokenReads } from "./reads/tokens.ts";
import { adoptRestored } from "./restored.ts";
import { Writer } from "./writer.ts";
import { LEASE_VERBS } from "./writes/leases.ts";

export interface SqliteOptions {
	/** Absolute path of the data directory. */
	directory: string;
	/** Start of the server. */
	now: Date;
	synchronous?: Synchronous;
	/**
	 * Called before the first migration of a database with data; nothing is migrated when it throws.
	 * @param copyTo copies the database as it is into an empty file
	 */
	beforeMigration?(migration: string, copyTo: (file: string) => Promise<void>): Promise<void>;
	/** Told once when the storage failed for good: the process has to end. */
	onFailure(error: FatalError): void;
}

const SSO_VERBS = ["setProvider", "removeProvider", "signIn", "link", "consume", "forgetUsed"] as const;

/** Milliseconds between two attempts to write on a full disk. */
const PROBE_EVERY_MS = 1000;

/**
 * Opens the SQLite adapter of the store: takes the directory, starts the writer thread, migrates, and opens the connection for readings.
 * @throws FatalError when another server has the directory or the database cannot be opened
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
	const unlock = lockDataDirectory(options.directory);
	const file = join(options.directory, "svc.db");
	let tip: { seq: number; hash: Buffer } = { seq: 0, hash: GENESIS };
	const input = { file, synchronous: options.synchronous ?? "FULL", now: options.now.toISOString() };
	let reading: Reading | undefined;
	const keepTip = (newest: typeof tip) => {
		tip = newest;
		reading?.refresh();
	};
	const memory = createMemory();
	const listener = { onTip: keepTip, onWritten: memory.forget, onFailure: options.onFailure };
	const writer = await prepare(options, file)
		.then(() => Writer.start(input, listener))
		.catch((error) => {
			unlock();
			throw error;
		});
	const connection = openReader(file);
	reading = createReading(connection, options.onFailure);
	const reader = new LongReader(file);
	const asked = questions(reading, drizzle({ client: connection }));
	return {
		...memory.over(nouns(writer, asked, reader, () => tip)),
		backups: {
			copyTo: (to) => copyDatabase(file, to),
			...reading.within(restoreReads(connection)),
			...writer.noun("backups", ["noteRestored"]),
		},
		isWritable: probe(writer),
		async close() {
			await reader.close();
			reading?.refresh();
			connection.close();
			await writer.close();
			unlock();
		},
	};
}

/** What has to be done to the files before anybody writes. */
async function prepare({ directory, beforeMigration }: SqliteOptions, file: string): Promise<void> {
	adoptRestored(directory);
	const migration = pendingMigration(file);
	if (migration !== undefined) await beforeMigration?.(migration, (to) => copyDatabase(file, to));
}

function questions(reading: Reading, db: ReturnType<typeof drizzle>) {
	return {
		accounts: reading.within(accountReads(db)),
		engines: reading.within(engineReads(db)),
		keys: reading.within(keyReads(db)),
		leases: reading.within(leaseReads(db)),
		policy: reading.within(policyReads(db)),
		realms: reading.within(realmReads(db)),
		secrets: reading.within(secretReads(db)),
		sso: reading.within(ssoReads(db)),
		tokens: reading.within(tokenReads(db)),
	};
}

function nouns(
	writer: Writer,
	asked: ReturnType<typeof questions>,
	reader: LongReader,
	tip: () => { seq: number; hash: Buffer },
): Omit<Store, "backups" | "isWritable" | "close"> {
	const account = ["register", "setPassword", "setDisabled", "openSession", "closeSession", "dropSessions"] as const;
	const append = (event: AuditEvent) => writer.append(event);
	const log = reader.noun("audit", ["list", "count", "export", "checkpoints", "verify"]);
	const { forget, hasten, ...lease } = writer.noun("leases", LEASE_VERBS);
	return {
		accounts: { ...asked.accounts, ...writer.noun("accounts", account) },
		audit: { ...log, ...writer.noun("audit", ["addCheckpoint"]), append, tip },
		engines: { ...asked.engines, ...writer.noun("engines", ["setConfig", "removeConfig", "keepGenerated"]) },
		keys: { ...asked.keys, ...writer.noun("keys", ["initialize", "rotate", "rewrap"]) },
		leases: {
			...asked.leases,
			...reader.noun("leases", ["list", "count"]),
			...lease,
			forget: untilNothing(forget),
			hasten: untilNothing(hasten),
		},
		policy: { ...asked.policy, ...writer.noun("policy", ["bind", "unbind"]) },
		realms: { ...asked.realms, ...writer.noun("realms", ["create", "remove", "purge"]) },
		revocations: writer.noun("revocations", ["revoke"]),
		secrets: { ...asked.secrets, ...writer.noun("secrets", ["set", "promote", "remove"]) },
		sso: { ...asked.sso, ...writer.noun("sso", SSO_VERBS) },
		tokens: { ...asked.tokens, ...writer.noun("tokens", ["create", "revoke", "used"]) },
	};
}

/** Goes on in small steps, so that other writes get their turn between them. */
function untilNothing<Input>(step: (input: Input) => Promise<number>): (input: Input) => Promise<number> {
	return async (input) => {
		let total = 0;
		for (let count = -1; count !== 0; total += count) count = await step(input);
		return total;
	};
}

/** A full disk is tried again with one small write; while writes succeed nothing is tried. */
function probe(writer: Writer): Store["isWritable"] {
	const { probe: write } = writer.noun("health", ["probe"]);
	let last = 0;
	return async (now) => {
		if (writer.hasFailed) return false;
		if (!writer.isFull) return true;
		if (now.getTime() - last < PROBE_EVERY_MS) return false;
		last = now.getTime();
		return write(now.toISOString()).then(
			() => true,
			() => false,
		);
	};
}
