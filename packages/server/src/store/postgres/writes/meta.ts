import type { Change } from "../database.ts";

/** Keeps a value under a name. */
export async function setMeta(db: Change, name: string, value: string): Promise<void> {
	if ((await db.update("meta", { value }, "name = $1", [name])) === 0) await db.insert("meta", { name, value });
}
