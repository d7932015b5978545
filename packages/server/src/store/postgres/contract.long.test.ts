import { after, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import type { Cleanup } from "../../testing/store.ts";
import { testContract } from "../contract/contract.ts";
import type { OpenedStore } from "../contract/open-store.ts";
import { openPostgresTestStore } from "./testing.ts";

const REFUSALS = { check: /23514/, unique: /23505/, reference: /23503/ };

/* Tests the PostgreSQL adapter against the port's promises. */
async function open(server: Postgres, cleanup: Cleanup, used?: string): Promise<OpenedStore> {
	const { store, database } = await openPostgresTestStore(cleanup, server, used);
	return { store, refusals: REFUSALS, reopen: () => open(server, cleanup, database) };
}

if (skipWithoutPostgres === false) {
	const server = await startPostgres();
	after(() => server.stop());
	testContract((cleanup) => open(server, cleanup));
} else test("the contract", { skip: skipWithoutPostgres }, () => undefined);
