import { type Cleanup, openTestStore } from "../../testing/store.ts";
import { testContract } from "../contract/contract.ts";
import type { OpenedStore } from "../contract/open-store.ts";

const REFUSALS = {
	check: /SQLITE_CONSTRAINT_CHECK/,
	unique: /SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)/,
	reference: /SQLITE_CONSTRAINT_FOREIGNKEY/,
};

/* Tests the SQLite adapter against the port's promises. */
async function open(cleanup: Cleanup, used?: string): Promise<OpenedStore> {
	const { store, directory } = await openTestStore(cleanup, used);
	return { store, refusals: REFUSALS, reopen: () => open(cleanup, directory) };
}

testContract((cleanup) => open(cleanup));
