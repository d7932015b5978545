import type { Database } from "better-sqlite3";
import type { Restore } from "../../../backups/model.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { lazy } from "./read-connection.ts";

type Reads = Implementations<"read">["backups"];

/** Question for the report that a restore left. */
export function restoreReads(db: Database): Reads {
	const told = lazy(() => db.prepare(`SELECT value FROM ${verified("meta")} WHERE name = 'restore_to_tell'`).pluck());
	return {
		restored() {
			const text = told().get() as string | undefined;
			return text === undefined ? undefined : (JSON.parse(text) as Restore);
		},
	};
}
