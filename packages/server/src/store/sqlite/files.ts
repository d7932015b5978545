import {
	accessSync,
	chmodSync,
	constants,
	existsSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	rmSync,
	type Stats,
	statfsSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { syncDirectory } from "../../durable-file.ts";
import { FatalError } from "../../errors.ts";
import { cannotOpen, codeOf } from "./failure.ts";

/** Types of network file systems (statfs): SQLite's locks and syncs are unreliable there. NFS, SMB, CIFS, SMB2, AFS, Ceph. */
const NETWORK = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400]);

/** The database's files in a data directory. */
export const DATABASE_FILES = ["svc.db", "svc.db-wal", "svc.db-shm", "svc.lock"] as const;

/** Name of the file that says that the server which has the data directory refuses every request. */
const REFUSING = "svc.refusing";

/**
 * Makes the data directory (0700), or checks that it and its files are private to this user.
 * @param files names of files in it that must be private if they exist
 * @throws FatalError naming the file and the command that mends it
 */
export function checkDataDirectory(directory: string, files: readonly string[]): void {
	makeDirectory(directory);
	checkPrivate(directory, lstatSync(directory), "directory", "700");
	if (NETWORK.has(statfsSync(directory).type)) {
		throw new FatalError(
			`${directory} is on a network file system, where writes can be lost: choose a data_dir on a local disk`,
		);
	}
	for (const name of files) {
		const file = join(directory, name);
		const stats = lstatSync(file, { throwIfNoEntry: false });
		if (stats !== undefined) checkPrivate(file, stats, "file", "600");
	}
}

/** Makes it and syncs its name: a power cut must not lose what was stored in it. */
function makeDirectory(directory: string): void {
	try {
		const first = mkdirSync(directory, { recursive: true, mode: 0o700 });
		if (first !== undefined) syncDirectory(dirname(first));
		accessSync(directory, constants.W_OK);
	} catch (cause) {
		throw new FatalError(
			`${directory} cannot be written (${codeOf(cause)}): make it writable, or choose another data_dir`,
			73,
			{ cause },
		);
	}
}

function checkPrivate(path: string, stats: Stats, kind: "directory" | "file", mode: string): void {
	const isKind = kind === "directory" ? stats.isDirectory() : stats.isFile();
	if (!isKind) throw new FatalError(`${path} must be a plain ${kind}, not a link: replace it with what it points to`);
	const uid = process.getuid?.() ?? stats.uid;
	if (stats.uid !== uid) {
		// No chown to root: a service that owns the directory could no longer start.
		const other = uid === 0 && kind === "directory" ? "" : `, or: chown ${uid} ${path}`;
		throw new FatalError(`${path} belongs to another user (uid ${stats.uid}): run as that user${other}`);
	}
	if ((stats.mode & 0o077) !== 0)
		throw new FatalError(`${path} is accessible to other users: run chmod ${mode} ${path}`);
}

/** The locks of this process. One that nothing refers to would be collected, and its file unlocked. */
const locks = new Set<Database.Database>();

/**
 * Takes the data directory for this process until it ends, however it ends.
 * @returns a function that releases it
 * @throws FatalError when another server has it
 */
export function lockDataDirectory(directory: string): () => void {
	const file = join(directory, "svc.lock");
	let lock: Database.Database | undefined;
	try {
		lock = new Database(file, { timeout: 0 });
		chmodSync(file, 0o600);
		lock.pragma("locking_mode = EXCLUSIVE");
		lock.exec("BEGIN EXCLUSIVE");
		rmSync(join(directory, REFUSING), { force: true });
	} catch (cause) {
		lock?.close();
		// The library itself did not load.
		if (cause instanceof FatalError) throw cause;
		const code = codeOf(cause);
		if (code !== "SQLITE_BUSY") throw cannotOpen(file, code);
		throw new FatalError(`another svc server is using ${directory}: stop it, or choose another data_dir`, 78, {
			cause,
		});
	}
	const taken = lock;
	locks.add(taken);
	return () => {
		taken.close();
		locks.delete(taken);
	};
}

/** Notes that this server, which has the data directory, refuses every request. `refusingProcess` finds it until another one takes the directory. */
export function noteRefusal(directory: string): void {
	try {
		writeFileSync(join(directory, REFUSING), "", { mode: 0o600 });
	} catch {
		// Without the file, somebody must stop the server before `svc adopt`.
	}
}

/** Finds the process that has the data directory and refuses every request; undefined when there is none, or the system does not say which it is. */
export function refusingProcess(directory: string): number | undefined {
	const locks = "/proc/locks";
	if (!existsSync(join(directory, REFUSING)) || !existsSync(locks)) return undefined;
	const { ino } = lstatSync(join(directory, "svc.lock"));
	for (const line of readFileSync(locks, "utf8").split("\n")) {
		const [, pid, inode] = /^\d+: POSIX +ADVISORY +WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line) ?? [];
		if (inode === String(ino) && Number(pid) > 0) return Number(pid);
	}
	return undefined;
}
