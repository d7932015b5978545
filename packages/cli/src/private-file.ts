import { randomUUID } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";

/**
 * Writes a file that only its owner can read: all of it, or nothing of it.
 * @param text whole, or piece by piece
 * @param replaces whether a file of that name is replaced
 * @throws the system's error when it cannot be written; EEXIST when there is one that is not to be replaced
 */
export async function writePrivateFile(
	path: string,
	text: string | AsyncIterable<string | Uint8Array>,
	replaces = true,
): Promise<void> {
	const temporary = `${path}.${randomUUID()}`;
	const file = await open(temporary, "wx", 0o600);
	try {
		await file.writeFile(text);
		await file.sync();
		await file.close();
		// A link, unlike a rename, fails where something is.
		await (replaces ? rename : link)(temporary, path);
	} finally {
		await file.close();
		await rm(temporary, { force: true });
	}
}
