import { open } from "node:fs/promises";
import { Failure } from "../failure.ts";

/** Most bytes of a token, a JWT included, as the server takes it. Design: §15 */
const MAX_TOKEN_BYTES = 16 * 1024;

/**
 * Reads a file that holds a token. One line break at its end, as files have it, is not part of it.
 * @param source the file for a person, such as `the file of SVC_TOKEN_FILE`
 * @returns undefined when there is no such file
 * @throws Failure usage when others can write it, it cannot be read, or it cannot be a token
 */
export async function readTokenFile(path: string, source: string): Promise<string | undefined> {
	const text = await readSmall(path, source);
	return text === undefined ? undefined : checkToken(text.replace(/\r?\n$/, ""), source);
}

/** Checks that a text can be a token. @throws Failure usage naming its source */
export function checkToken(token: string, source: string): string {
	if (token === "") throw new Failure("usage", `${source} is empty`);
	if (!/^[\x21-\x7e]+$/.test(token)) throw new Failure("usage", `${source} holds characters that no token has`);
	return token;
}

async function readSmall(path: string, source: string): Promise<string | undefined> {
	try {
		await using file = await open(path);
		const { mode, size } = await file.stat();
		if (mode & 0o022) {
			throw new Failure("usage", `other users can write ${source}, so its token may be anybody's`, {
				hint: `chmod go-w ${path}`,
			});
		}
		if (size > MAX_TOKEN_BYTES) throw new Failure("usage", `${source} is too long for a token`);
		return await file.readFile("utf8");
	} catch (cause) {
		if (cause instanceof Failure) throw cause;
		const { code = "error" } = cause as NodeJS.ErrnoException;
		if (code === "ENOENT") return undefined;
		throw new Failure("usage", `${source} cannot be read (${code})`, { cause });
	}
}
