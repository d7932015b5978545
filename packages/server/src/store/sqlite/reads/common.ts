import type { Database } from "better-sqlite3";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { lazy } from "./read-connection.ts";

/** Question about texts that servers have in common. On SQLite no other server shares the store. */
export function commonReads(db: Database): Implementations<"read">["common"] {
	const text = lazy(() => db.prepare(`SELECT value FROM ${verified("meta")} WHERE name = 'common.' || ?`).pluck());
	return { text: (name) => text().get(name) as string | undefined };
}
