import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the content of a folder: for each name its kind, owner, permissions and content, so that two snapshots are equal when nothing
 * changed.
 */
export function snapshot(folder: string): Record<string, string> {
	const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
	return Object.fromEntries(["", ...names].map((name) => [name, describe(join(folder, name))]));
}

function describe(path: string): string {
	const stats = lstatSync(path);
	const access = `${stats.uid}:${stats.gid} ${(stats.mode & 0o7777).toString(8)}`;
	if (stats.isSymbolicLink()) return `${access} -> ${readlinkSync(path)}`;
	if (stats.isDirectory()) return `${access} folder`;
	return `${access} ${stats.size} bytes ${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
}
