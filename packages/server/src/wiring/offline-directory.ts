import { TLS_FILES } from "../http/tls-files.ts";
import { checkDataDirectory, DATABASE_FILES, lockDataDirectory } from "../store/sqlite/files.ts";

/** Locks a data directory while work is done on it. @throws FatalError when a server runs, or when others may read its files */
export async function whileOffline<Result>(data_dir: string, work: () => Promise<Result>): Promise<Result> {
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const unlock = lockDataDirectory(data_dir);
	try {
		return await work();
	} finally {
		unlock();
	}
}
