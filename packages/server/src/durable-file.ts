import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Makes the names in a directory durable, which syncing a file does not. */
export function syncDirectory(directory: string): void {
	sync(directory);
}

/**
 * Replaces a file; after a power cut it is the old one or the new one, whole.
 * @param mode of the file, whatever the umask
 * @param write makes the draft, which does not exist; another name for it lets several processes replace the same file
 */
export function replaceFile(
	file: string,
	mode: number,
	write: (draft: string) => void,
	draft: string = `${file}.new`,
): void {
	// Left by an interrupted write, and perhaps not writable.
	rmSync(draft, { force: true });
	write(draft);
	chmodSync(draft, mode);
	sync(draft);
	renameSync(draft, file);
	syncDirectory(dirname(file));
}

/** Replaces a file with this content, private (0600) by default, and in any case until it is whole. */
export function writeDurably(file: string, content: string | Uint8Array, mode = 0o600, draft?: string): void {
	replaceFile(file, mode, (name) => writeFileSync(name, content, { flag: "wx", mode: 0o600 }), draft);
}

function sync(path: string): void {
	const handle = openSync(path, "r");
	try {
		fsyncSync(handle);
	} finally {
		closeSync(handle);
	}
}
