import { promises } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "../backups/model.ts";
import type { OpenDatabase } from "../doctor/database.ts";
import { openSnapshot } from "../store/sqlite/snapshots.ts";
import type { Store } from "../store/store.ts";
import { system } from "../system.ts";

/** Begins the name of a copy, in the data directory. */
const EXAMINED = "svc.db.examined-";

/** Removes copies that a doctor left behind when it was killed: they hold all sealed values. */
export async function removeExamined(directory: string): Promise<void> {
	const left = (await promises.readdir(directory)).filter((name) => name.startsWith(EXAMINED));
	await Promise.all(left.map((name) => promises.rm(join(directory, name))));
}

/** Opens the database that the store has, for the doctor. Sealed rows are read from a copy, which is removed afterwards. @param directory for the copy */
export function openNetworkedDatabase(store: Store, directory: string): OpenDatabase {
	const draft = join(directory, `${EXAMINED}${system.randomBytes(8).toString("hex")}`);
	let copied: Promise<Snapshot> | undefined;
	const copy = async () => {
		await promises.writeFile(draft, "", { mode: 0o600, flag: "wx" });
		await store.copyTo(draft);
		return openSnapshot(draft);
	};
	return {
		audit: store.audit,
		checkQuickly: async () => [],
		inspect: async () => [],
		compare: () => store.audit.compare(),
		checkIntegrity: () => store.checkIntegrity(),
		async sealed(kind, after) {
			copied ??= copy();
			return (await copied).sealed(kind, after);
		},
		async close() {
			const snapshot = await copied?.catch(() => undefined);
			await snapshot?.close();
			await promises.rm(draft, { force: true });
		},
	};
}
