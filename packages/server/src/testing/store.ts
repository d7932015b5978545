import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRowMacs } from "../crypto/row-macs.ts";
import type { FatalError } from "../errors.ts";
import { noRows } from "../store/row-ledger.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { guardReads, guardWrites } from "../store/sqlite/row-guard.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { copyEmptyDatabase } from "./empty-database.ts";

/** Takes a test's clean-up: a test's context, or node:test's own `after` for a whole file. */
export interface Cleanup {
	after(clean: () => Promise<void>): void;
}

/** The SQLite store in its own folder. */
export interface TestStore {
	store: Store;
	directory: string;
	/** The database file. */
	file: string;
	/** Errors that the store reported before it gave up. */
	failures: FatalError[];
}

/** Makes a temporary folder that is removed after the test. */
export async function makeFolder(cleanup: Cleanup): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "svc-unit-"));
	cleanup.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

/** Lets a store be closed more than once: by a test, and after it. */
export function closedOnce<Opened extends Store>(opened: Opened): Opened {
	let closing: Promise<void> | undefined;
	return {
		...opened,
		close() {
			closing ??= opened.close();
			return closing;
		},
	};
}

/** Key of the rows of stores that no keyring opens. */
export const ROW_KEY = { id: Buffer.alloc(8, 1), bytes: Buffer.alloc(32, 1) };

/**
 * Opens a store in a new folder, or in a used one; it is closed after the test.
 * @param isGuarded leaves the keys of its rows to a keyring when false
 */
export async function openTestStore(cleanup: Cleanup, used?: string, isGuarded = true): Promise<TestStore> {
	// Closes the store before its folder goes: otherwise its last work would not find the files.
	const ends = new AsyncDisposableStack();
	cleanup.after(() => ends.disposeAsync());
	const directory = used ?? (await makeFolder({ after: (clean) => void ends.defer(clean) }));
	const file = join(directory, "svc.db");
	if (used === undefined) copyEmptyDatabase(file);
	const failures: FatalError[] = [];
	const opened = await openSqliteStore({
		directory,
		now: new Date("2030-01-01T00:00:00Z"),
		onFailure: (failure) => failures.push(failure),
	});
	if (isGuarded) await opened.guard([ROW_KEY]);
	const store = closedOnce(opened);
	ends.defer(() => store.close());
	return { store, directory, file, failures };
}

/** Makes a connection of its own take every row as verified: for tests of statements alone. */
export function trustAllRows(db: Parameters<typeof guardReads>[0]): void {
	guardReads(db, { fits: () => true, usual: () => null, names: "" });
}

/** Makes a connection of a test sign its rows as the test's stores do. */
export function writeAsStore(db: Parameters<typeof guardWrites>[0]): void {
	const macs = createRowMacs([ROW_KEY], randomBytes);
	guardWrites(db, macs, noRows(ROW_KEY.id.toString("hex")), () => {});
}

/** Empties tables through another connection than the open store's: answers from then on come from its cache. */
export function emptyTables({ file }: Pick<TestStore, "file">, tables: readonly string[]): void {
	const otherWriter = openWriter(file);
	otherWriter.pragma("foreign_keys = OFF");
	for (const table of tables) otherWriter.exec(`DELETE FROM ${table}`);
	otherWriter.close();
}
