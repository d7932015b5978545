import { statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { FatalError } from "../errors.ts";
import type { System } from "../system.ts";
import { type Check, ok } from "./model.ts";

/** Dependencies of examining files and disk. */
export interface MachineNeeds {
	data_dir: string;
	system: Pick<System, "now">;
	/** @throws FatalError naming the files that others may read or write, and the command that fixes it */
	checkDataDirectory(): void;
	/** Tells when the newest backup was made, in Unix milliseconds; undefined when there is none. */
	newestBackupAt(): number | undefined;
}

const MIB = 1024 * 1024;
/** Free space below which the next writes are at risk. */
const LEAST_FREE_BYTES = 256 * MIB;
/** A write-ahead log starts over at 32 MiB; the file is cut to 64 MiB. */
const LONG_LOG_BYTES = 128 * MIB;
/** Free share of the disk below which each account may cause only a limited number of events. Design: §13. */
const LOW_SHARE = 0.15;
const SLOWED = "less than 15 %, so each account is limited to 20 events a second";
const DAY_MS = 24 * 60 * 60 * 1000;
const OLD_BACKUP_DAYS = 7;

/** Checks that only the server's user may read or write the contents of the data directory. */
export function checkFiles({ data_dir, checkDataDirectory }: MachineNeeds): Check[] {
	try {
		checkDataDirectory();
		return [ok("files", `no other user can read or write ${data_dir}`)];
	} catch (error) {
		if (!(error instanceof FatalError)) throw error;
		return [{ name: "files", status: "failed", message: error.message, hint: "" }];
	}
}

/** Checks for room for the database to grow and for a backup of it, and that the write-ahead log is emptied. */
export function checkDisk({ data_dir }: MachineNeeds): Check[] {
	const { bavail, bfree, blocks, bsize } = statfsSync(data_dir);
	const free = bavail * bsize;
	const isLow = free < (blocks - bfree + bavail) * bsize * LOW_SHARE;
	const database = sizeOf(join(data_dir, "svc.db"));
	const log = sizeOf(join(data_dir, "svc.db-wal"));
	const size = database === 0 ? "the database is on PostgreSQL" : `the database has ${mib(database)}`;
	const message = `${mib(free)} free, ${size}`;
	const hint = "free space on the disk, or move the data directory to a larger one";
	const disk: Check =
		free < LEAST_FREE_BYTES
			? { name: "disk", status: "failed", message, hint }
			: free < database + LEAST_FREE_BYTES
				? { name: "disk", status: "warning", message: `${message}: too little for a backup on the same disk`, hint }
				: isLow
					? { name: "disk", status: "warning", message: `${message}: ${SLOWED}`, hint }
					: ok("disk", message);
	if (log <= LONG_LOG_BYTES) return [disk];
	const long = `the write-ahead log has grown to ${mib(log)} and cannot be emptied`;
	return [disk, { name: "disk", status: "warning", message: long, hint: "stop other programs that read svc.db" }];
}

/** Checks for a backup, and its age. */
export function checkBackups({ newestBackupAt, system }: MachineNeeds): Check[] {
	const made_at = newestBackupAt();
	const hint = "run `svc backup`, ideally every day from a timer";
	if (made_at === undefined)
		return [{ name: "backup", status: "warning", message: "there is no backup in the backup folder", hint }];
	const days = Math.floor((system.now().getTime() - made_at) / DAY_MS);
	const message = `the newest backup was made at ${new Date(made_at).toISOString()}`;
	if (days < OLD_BACKUP_DAYS) return [ok("backup", message)];
	return [{ name: "backup", status: "warning", message: `${message}, ${days} days ago`, hint }];
}

function sizeOf(file: string): number {
	return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function mib(bytes: number): string {
	return `${Math.round(bytes / MIB).toLocaleString("en")} MiB`;
}
