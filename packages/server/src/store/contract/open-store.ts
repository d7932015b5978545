import type { Cleanup } from "../../testing/store.ts";
import type { Store } from "../store.ts";

/** A store of the adapter that is tested. */
export interface OpenedStore {
	store: Store;
	/** Opens what is stored once more, after the store was closed. */
	reopen(): Promise<OpenedStore>;
	/** What the error of an operation says that breaks what holds of every row, which no rule lets happen: nothing is changed then. */
	refusals: Readonly<Record<"check" | "unique" | "reference", RegExp>>;
}

/** Opens an adapter on a new, empty place; it is closed after the test. */
export type OpenStore = (cleanup: Cleanup) => Promise<OpenedStore>;
