import type { Database } from "better-sqlite3";
import type { Restore } from "../../../backups/model.ts";
import { system } from "../../../system.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { lazy } from "./read-connection.ts";

type Reads = Implementations<"read">["backups"];

/** Questions about the last restore. */
export function restoreReads(db: Database): Reads {
	const era = system.uuid();
	const stored = lazy(() => db.prepare(`SELECT value FROM ${verified("meta")} WHERE name = 'restore_to_tell'`).pluck());
	return {
		restored() {
			const text = stored().get() as string | undefined;
			return text === undefined ? undefined : (JSON.parse(text) as Restore);
		},
		era: () => era,
	};
}
