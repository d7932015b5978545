import type { Database } from "better-sqlite3";
import type { Implementations } from "../../store.ts";

/** Operations on texts that servers have in common. */
export function commonWrites(db: Database): Implementations<"write">["common"] {
	const find = db.prepare("SELECT value FROM meta WHERE name = 'common.' || ?").pluck();
	const add = db.prepare("INSERT INTO meta (name, value) VALUES ('common.' || ?, ?)");
	const remove = db.prepare("DELETE FROM meta WHERE name = 'common.' || ?");
	return {
		keep(name, sealed) {
			const stored = find.get(name) as string | undefined;
			if (stored === undefined) add.run(name, sealed);
			return stored ?? sealed;
		},
		drop: (name) => remove.run(name).changes > 0,
	};
}
