import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { migrate } from "../store/sqlite/migrate.ts";
import { openWriter } from "../store/sqlite/open.ts";

/** A migrated database without rows, which the tests of a process copy. */
const empty = join(mkdtempSync(join(tmpdir(), "svc-empty-")), "svc.db");
process.once("exit", () => rmSync(dirname(empty), { recursive: true }));

/** Copies the empty database, which the first call makes: the migrations take most of the time of opening a new one. */
export function copyEmptyDatabase(file: string): void {
	if (!existsSync(empty)) {
		const db = openWriter(empty);
		migrate(db, "");
		db.close();
	}
	copyFileSync(empty, file);
}
