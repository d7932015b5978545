import type { Copy } from "../../backups/model.ts";
import { LongReader } from "./reader.ts";

/** Opens a database file, such as a backup, to be judged in a thread of its own. */
export function openCopy(file: string): Copy {
	const reader = new LongReader(file);
	return {
		audit: { checkpoints: reader.question("audit", "checkpoints"), verify: reader.question("audit", "verify") },
		facts: reader.question("copies", "facts"),
		glance: reader.question("copies", "glance"),
		inspect: reader.question("copies", "inspect"),
		keys: reader.question("copies", "keys"),
		samples: reader.question("copies", "samples"),
		close: () => reader.close(),
	};
}

/** Copies a database that is in use into an empty file. @throws Error whose `code` is SQLite's */
export async function copyDatabase(from: string, to: string): Promise<void> {
	const reader = new LongReader(from);
	try {
		await reader.ask("backups", "copyTo", [to]);
	} finally {
		await reader.close();
	}
}
