import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FatalError } from "../errors.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";

/** Where a test says what is to be done after it: a test's context, or node:test's own `after` for a whole file. */
export interface Cleanup {
	after(clean: () => Promise<void>): void;
}

/** The SQLite store in a folder of its own. */
export interface TestStore {
	store: Store;
	directory: string;
	/** The database. */
	file: string;
	/** What the store said before it gave up. */
	failures: FatalError[];
}

/** Makes a temporary folder that is gone after the test. */
export async function makeFolder(cleanup: Cleanup): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "svc-unit-"));
	cleanup.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

/** Opens a store in a new folder, or again in one that was used before; it is closed after the test. */
export async function openTestStore(cleanup: Cleanup, used?: string): Promise<TestStore> {
	// Closed before its folder goes: what it still does would not find its files.
	const ends = new AsyncDisposableStack();
	cleanup.after(() => ends.disposeAsync());
	const directory = used ?? (await makeFolder({ after: (clean) => void ends.defer(clean) }));
	const failures: FatalError[] = [];
	const opened = await openSqliteStore({
		directory,
		now: new Date("2030-01-01T00:00:00Z"),
		onFailure: (failure) => failures.push(failure),
	});
	let closing: Promise<void> | undefined;
	const store: Store = {
		...opened,
		close() {
			closing ??= opened.close();
			return closing;
		},
	};
	ends.defer(() => store.close());
	return { store, directory, file: join(directory, "svc.db"), failures };
}

/** Empties tables past the open store, which is the only one that writes: what answers from then on is what it remembers. */
export function emptyAside({ file }: Pick<TestStore, "file">, tables: readonly string[]): void {
	const aside = openWriter(file, "FULL");
	aside.pragma("foreign_keys = OFF");
	for (const table of tables) aside.exec(`DELETE FROM ${table}`);
	aside.close();
}
