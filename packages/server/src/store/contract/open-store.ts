import type { Cleanup } from "../../testing/store.ts";
import type { Store } from "../store.ts";

/** A store of the adapter under test. */
export interface OpenedStore {
	store: Store;
	/** Opens the stored data again, after the store was closed. */
	reopen(): Promise<OpenedStore>;
	/** Messages of the errors when an operation violates a constraint, which no rule lets happen: it then changes nothing. */
	refusals: Readonly<Record<"check" | "unique" | "reference", RegExp>>;
}

/** Opens an adapter in a new, empty directory, and closes it after the test. */
export type OpenStore = (cleanup: Cleanup) => Promise<OpenedStore>;
