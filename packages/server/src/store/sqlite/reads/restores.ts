import type { Database } from "better-sqlite3";
import type { BackupStore, Restore } from "../../../backups/model.ts";
import { later } from "./reader.ts";

/** What a restore left to be told. */
export function restoreReads(db: Database): Pick<BackupStore, "restored"> {
	const told = later(() => db.prepare("SELECT value FROM meta WHERE name = 'restore_to_tell'").pluck());
	return {
		async restored() {
			const text = told().get() as string | undefined;
			return text === undefined ? undefined : (JSON.parse(text) as Restore);
		},
	};
}
