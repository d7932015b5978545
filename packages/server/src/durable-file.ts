import { chmodSync, closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open, rename, rm, writeFile } from "node:fs/promises";
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
	draft: string = draftOf(file),
): void {
	makeDraft(draft, mode, write);
	renameSync(draft, file);
	syncDirectory(dirname(file));
}

/** Replaces a file with this content, private (0600) by default, and in any case until it is whole. */
export function writeDurably(file: string, content: string | Uint8Array, mode = 0o600, draft?: string): void {
	replaceFile(file, mode, writerOf(content), draft);
}

/** Replaces a private file as `writeDurably` does, and holds up no other work meanwhile. One call at a time. */
export async function writeDurablyAsync(file: string, content: string): Promise<void> {
	const draft = draftOf(file);
	await rm(draft, { force: true });
	await writeFile(draft, content, { flag: "wx", mode: 0o600, flush: true });
	await rename(draft, file);
	const directory = await open(dirname(file));
	try {
		await directory.sync();
	} finally {
		await directory.close();
	}
}

/**
 * Makes a file with this content, which never replaces another; after a power cut it is absent or whole, and its draft may be left.
 * @throws the system's error: EEXIST when there is a file of that name
 */
export function createDurably(file: string, content: string | Uint8Array, mode: number): void {
	const draft = draftOf(file);
	makeDraft(draft, mode, writerOf(content));
	try {
		// Unlike a rename, a link does not replace another file.
		linkSync(draft, file);
	} finally {
		rmSync(draft);
	}
	syncDirectory(dirname(file));
}

/** Names the file in which the content of another is prepared. */
export function draftOf(file: string): string {
	return `${file}.new`;
}

function makeDraft(draft: string, mode: number, write: (draft: string) => void): void {
	// Left by an interrupted write, and perhaps not writable.
	rmSync(draft, { force: true });
	write(draft);
	chmodSync(draft, mode);
	sync(draft);
}

function writerOf(content: string | Uint8Array): (draft: string) => void {
	return (draft) => writeFileSync(draft, content, { flag: "wx", mode: 0o600 });
}

function sync(path: string): void {
	const handle = openSync(path, "r");
	try {
		fsyncSync(handle);
	} finally {
		closeSync(handle);
	}
}
