/* Empties a realm by a few parts, and kills itself within the next one. */
import { openWriter } from "../store/sqlite/open.ts";
import { purgeBatch } from "../store/sqlite/writes/purge.ts";
import { purgeable } from "./rows.ts";
import { writeAsStore } from "./store.ts";

/** Parts after which it kills itself. */
export const STEPS = [0, 1, 3] as const;

function main([file = "", realm_id = "", steps = ""]: string[]): void {
	const db = openWriter(file);
	writeAsStore(db);
	const empty = purgeBatch(db);
	for (let step = 0; ; step++) {
		db.exec("BEGIN IMMEDIATE");
		empty(purgeable(realm_id));
		if (step === Number(steps)) process.kill(process.pid, "SIGKILL");
		db.exec("COMMIT");
	}
}

if (import.meta.main) main(process.argv.slice(2));
