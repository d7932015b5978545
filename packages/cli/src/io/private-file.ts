import { randomUUID } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";

/**
 * Writes a file that only its owner can read, completely or not at all.
 * @param text whole, or in pieces
 * @param replaces whether it may replace a file of that name
 * @throws the system's error when it cannot be written; EEXIST when there is a file that it may not replace
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
		// Unlike a rename, a link fails where a file exists.
		await (replaces ? rename : link)(temporary, path);
	} finally {
		await file.close();
		await rm(temporary, { force: true });
	}
}
