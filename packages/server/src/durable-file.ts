import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Makes the names in a directory durable, which syncing a file does not. */
export function syncDirectory(directory: string): void {
	const handle = openSync(directory, "r");
	fsyncSync(handle);
	closeSync(handle);
}

/** Writes a private file (0600) that is whole or absent after a power cut. */
export function writeDurably(file: string, content: string): void {
	const draft = `${file}.new`;
	writeFileSync(draft, content, { mode: 0o600, flush: true });
	renameSync(draft, file);
	syncDirectory(dirname(file));
}
