import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncDirectory } from "../durable-file.ts";
import { hashFile } from "../file-hash.ts";
import { readManifest, UnsoundBackup } from "./manifest.ts";
import type { Backup } from "./model.ts";

/** `svc-` for a requested backup, `before-<migration>-` for one that the server made by itself; then the time. */
const NAME = /^(svc|before-[a-z0-9-]{1,100})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.db$/;

/** Suffix of a file until it is a backup. */
const DRAFT = ".new";

/** Folder of the backups. */
export interface BackupFolder {
	directory: string;
	/** Backups kept of each kind: requested ones, and those before migrations. */
	keep: number;
}

/** Makes a backup's file name. @param kind `svc`, or `before-<migration>` */
export function backupName(kind: string, now: Date): string {
	return `${kind}-${now.toISOString().replace(/[-:.]/g, "")}.db`;
}

/** Names the file of a backup in the making. */
export function draftOf(folder: BackupFolder, name: string): string {
	return join(folder.directory, `${name}${DRAFT}`);
}

/** Makes the folder (0700), durably, and removes what an interrupted backup left. */
export function prepareFolder({ directory }: BackupFolder): void {
	const first = mkdirSync(directory, { recursive: true, mode: 0o700 });
	if (first !== undefined) syncDirectory(dirname(first));
	for (const name of readdirSync(directory)) {
		if (name.endsWith(DRAFT) && NAME.test(name.slice(0, -DRAFT.length))) rmSync(join(directory, name));
	}
}

/**
 * Removes the backups of one kind beyond the number to keep: first those after which another one was made on the same day (UTC), then the oldest. Many
 * backups in one day do not displace those of earlier days.
 */
export function forgetOldest({ directory, keep }: BackupFolder, kind: "svc" | "before"): void {
	const names = namesIn(directory).filter((name) => name.startsWith(`${kind}-`));
	const newestFirst = names.toSorted(byTime);
	const isLastOfDay = (name: string, at: number) => at === 0 || dayOf(name) !== dayOf(newestFirst[at - 1] ?? "");
	const last = newestFirst.filter(isLastOfDay);
	const others = newestFirst.filter((name) => !last.includes(name));
	for (const name of [...last, ...others].slice(keep)) rmSync(join(directory, name), { force: true });
}

function dayOf(name: string): string | undefined {
	return /-(\d{8})T\d+Z\.db$/.exec(name)?.[1];
}

/**
 * Lists the backups of a folder, newest first. Leaves out files without a manifest.
 * @param onUnreadable called for each file that the system does not let us read; the others are still listed
 * @throws the system's error when the folder cannot be read
 */
export async function listFolder(
	folder: BackupFolder,
	onUnreadable: (name: string, error: unknown) => void,
): Promise<Backup[]> {
	const found: Backup[] = [];
	for (const name of namesIn(folder.directory).toSorted(byTime)) {
		const backup = await describe(folder, name).catch((error: unknown) => {
			onUnreadable(name, error);
			return undefined;
		});
		if (backup !== undefined) found.push(backup);
	}
	return found;
}

/** Finds the file of a backup; undefined when none has that name. @throws the system's error when the folder cannot be read */
export async function fileOf({ directory }: BackupFolder, name: string): Promise<string | undefined> {
	return namesIn(directory).includes(name) ? join(directory, name) : undefined;
}

/** Tells when the newest backup was made, in Unix milliseconds; undefined when there is none. */
export function newestAt({ directory }: BackupFolder): number | undefined {
	const [newest] = namesIn(directory).toSorted(byTime);
	return newest === undefined ? undefined : Date.parse(timeOf(newest));
}

/** Digests by the file's name, length and time: reading a large file takes seconds. */
const digests = new Map<string, string>();

/** Describes one backup; undefined when it is gone by now or has no manifest. @throws the system's error when it cannot be read */
export async function describe({ directory }: BackupFolder, name: string): Promise<Backup | undefined> {
	const file = join(directory, name);
	try {
		const { manifest } = await readManifest(file);
		const { size: bytes, mtimeMs } = statSync(file);
		const known = `${file} ${bytes} ${mtimeMs}`;
		const sha256 = digests.get(known) ?? (await hashFile(file));
		digests.set(known, sha256);
		const { created_at, fingerprint, events } = manifest;
		return { name, created_at, bytes, sha256, fingerprint, events };
	} catch (error) {
		if (error instanceof UnsoundBackup || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

function namesIn(directory: string): string[] {
	try {
		return readdirSync(directory).filter((name) => NAME.test(name));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	}
}

function timeOf(name: string): string {
	return name.replace(NAME, "$2-$3-$4T$5:$6:$7.$8Z");
}

function byTime(a: string, b: string): number {
	return timeOf(a) < timeOf(b) ? 1 : -1;
}
