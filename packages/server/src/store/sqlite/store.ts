import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import type { IntegrityReport } from "../../backups/model.ts";
import { createRowMacs, type RowKey } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import { system } from "../../system.ts";
import { createAnswerCache } from "../cache.ts";
import type { Store } from "../store.ts";
import { isBeforeMacs, noteMacs, wasAdopted } from "./adopt.ts";
import { createDisk, createLowDiskThrottle, type Disk, type FileSystem, throttleWrites } from "./disk.ts";
import { lockDataDirectory, noteRefusal } from "./files.ts";
import { createLoneNode } from "./lone-node.ts";
import { pendingMigration } from "./migrate.ts";
import { openReader } from "./open.ts";
import { createReadTransaction, type ReadTransaction } from "./read-transaction.ts";
import { ReadWorker } from "./read-worker.ts";
import { adoptRestored } from "./restored.ts";
import { guardReads } from "./row-guard.ts";
import { describeOwnSchema, refuseAlteredSchema } from "./schema-alterations.ts";
import { takeSnapshot } from "./snapshots.ts";
import { checkIntegrity } from "./tip.ts";
import { Writer, type WriterListener } from "./writer.ts";

export interface SqliteOptions {
	/** Absolute path of the data directory. */
	directory: string;
	/** Start of the server. */
	now: Date;
	/** The writer's thread, where it was started before the database was known. */
	writer?: Worker | undefined;
	/**
	 * Called before the first migration of a database with data; nothing is migrated when it throws.
	 * @param copyTo copies the database as it is into an empty file
	 */
	beforeMigration?(migration: string, copyTo: Store["copyTo"]): Promise<void>;
	/** Reads the directory's file system; tests replace it. */
	statfs?(path: string): FileSystem;
	/** Called once when the storage failed permanently: the process must end. */
	onFailure(error: FatalError): void;
}

/** Milliseconds between two attempts to write on a full disk. */
const PROBE_EVERY_MS = 1000;

/** Pages of 4 KiB of a database whose rows are compared without a thread, in less than 50 ms. */
const SMALL_PAGES = 256;

/**
 * Opens the SQLite adapter of the store: takes the directory, starts the writer thread, migrates, and opens the connection for reads.
 * @throws FatalError when another server has the directory or the database cannot be opened
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
	const file = join(options.directory, "svc.db");
	const cache = createAnswerCache();
	const [altered, noticed] = [[] as string[], Promise.withResolvers<void>()];
	// It starts while the files are prepared, and opens them while the adapter loads.
	const listener: WriterListener = {
		onWritten: cache.forget,
		onFailure: options.onFailure,
		onAltered(found) {
			altered.push(...found);
			noticed.resolve();
		},
	};
	const writer = Writer.launch(listener, options.writer);
	let unlock = () => {};
	try {
		unlock = lockDataDirectory(options.directory);
		const [createAdapter] = await Promise.all([loadAdapter(), prepareAndOpen(writer, options, file)]);
		const connection = openReader(file);
		const transaction = createReadTransaction(connection, () => writer.commits, options.onFailure);
		const { readers, keys, guard } = guardedReads(file, connection, writer);
		const disk = createDisk(options.directory, options.statfs);
		const throttle = createLowDiskThrottle(disk);
		const adapter = createAdapter({
			writer: throttleWrites(writer, throttle),
			connection,
			transaction,
			...readers,
			tip: () => writer.tip,
			altered: () => altered,
		});
		const operations = cache.over(adapter);
		const note = createNote(options, writer, altered);
		return {
			...operations,
			keys: { ...operations.keys, initialize: (...first) => operations.keys.initialize(...first).finally(note) },
			state: () => ({ type: "sqlite", status: "healthy" }),
			...createLoneNode(() => noteRefusal(options.directory)),
			isWritable: probe(writer, disk),
			eventsOnLowDisk: throttle.seen,
			questionTimes: () => readers.questions.times(),
			copyTo: (to) => takeSnapshot(file, to),
			guard: async (row_keys) => note(await guard(row_keys)),
			// A row that was put back for a moment may be remembered.
			checkIntegrity: () => compareRows(connection, transaction, readers.comparer, keys()).finally(cache.clear),
			altered: noticed.promise,
			async close() {
				await Promise.all(Object.values(readers).map((reader) => reader.close()));
				transaction.end();
				connection.close();
				await writer.close();
				unlock();
			},
		};
	} catch (error) {
		await writer.close();
		unlock();
		throw error;
	}
}

/** Makes the function that notes what does not fit the keys of rows, or that everything that is stored does. */
function createNote(options: SqliteOptions, writer: Writer, altered: string[]): (found?: readonly string[]) => void {
	return (found = []) => {
		altered.push(...found);
		if (altered.length === 0 && writer.tip.seq > 0) noteMacs(options);
	};
}

/**
 * Has a connection, and the threads for reads that take long, verify rows by their keys: one thread is for reads of one realm, one for questions that may
 * read a whole table, one for what reads everything. None of them keeps those of another waiting.
 */
function guardedReads(file: string, connection: Parameters<typeof guardReads>[0], writer: Writer) {
	const macs = createRowMacs(undefined, system.randomBytes);
	let given: RowKey[] | undefined;
	const keys = () => given ?? [];
	guardReads(connection, macs);
	const reader = () => new ReadWorker(file, keys);
	const readers = { worker: reader(), questions: reader(), comparer: reader() };
	/** Gives everybody the keys. What a thread was asked before is answered first, by the keys that were current then. */
	const guard = async (row_keys: RowKey[]) => {
		const isFirst = given === undefined;
		given = row_keys;
		macs.use(row_keys);
		const found = writer.guard(row_keys);
		const threads = isFirst ? [] : Object.values(readers);
		await Promise.all(threads.map((reader) => reader.question("row_keys", "use")(row_keys)));
		return found;
	};
	return { readers, keys, guard };
}

/** Compares the rows of a small database in place: a thread would take longer, and megabytes. */
async function compareRows(
	connection: Database,
	transaction: ReadTransaction,
	comparer: ReadWorker,
	keys: RowKey[],
): Promise<IntegrityReport> {
	// Another program's changes since the turn began count, too.
	transaction.end();
	try {
		const pages = connection.prepare("PRAGMA page_count").pluck().get() as number;
		if (pages > SMALL_PAGES) return await comparer.question("snapshots", "checkIntegrity")(keys);
		return checkIntegrity(connection, createRowMacs(keys, system.randomBytes), ["access", "content"]);
	} catch (cause) {
		return transaction.fail(cause);
	}
}

/** Loads the adapter, and describes the schema for it, while the writer's thread starts. */
async function loadAdapter() {
	const { createAdapter } = await import("./adapter.ts");
	describeOwnSchema();
	return createAdapter;
}

/** Prepares the files before anything is written, then has the writer open them. */
async function prepareAndOpen(writer: Writer, options: SqliteOptions, file: string): Promise<void> {
	adoptRestored(options.directory);
	const migration = pendingMigration(file);
	if (migration !== undefined) {
		refuseAlteredSchema(file);
		if (isBeforeMacs(file)) {
			const command = wasAdopted(options.directory) ? "svc adopt --again" : "svc adopt";
			throw new FatalError(
				`${file} is from before its rows authenticated themselves, so nothing tells who wrote them: look at it with \`${command}\`, which shows what it would believe and asks`,
			);
		}
		await options.beforeMigration?.(migration, (to) => takeSnapshot(file, to));
	}
	await writer.open({ file, now: options.now.toISOString(), was_adopted: wasAdopted(options.directory) });
}

/** Tries a full disk again with one small write; while writes succeed, it only checks that there is room for more. */
function probe(writer: Writer, disk: Disk): Store["isWritable"] {
	const write = writer.operation("health", "probe");
	let last = 0;
	return async (now) => {
		if (writer.hasFailed || disk.isNearlyFull()) return false;
		if (!writer.isFull) return true;
		if (now.getTime() - last < PROBE_EVERY_MS) return false;
		last = now.getTime();
		return write(now.toISOString()).then(
			() => true,
			() => false,
		);
	};
}
