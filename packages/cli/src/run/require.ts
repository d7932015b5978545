import { readFile } from "node:fs/promises";
import { Failure } from "../failure.ts";
import { decodeDotenv, parseDotenv } from "../formats/dotenv.ts";
import { DotenvError } from "../formats/imports/cursor.ts";

/**
 * Checks that every variable in a file such as `.env.example` is set.
 * @param env of the program that is about to start
 * @throws Failure naming the variables that are missing or empty, or the line that is not understood; the system's error without the file
 */
export async function requireVariables(file: string, env: Readonly<Record<string, string>>): Promise<void> {
	const missing = (await readNames(file)).filter((name) => !env[name]);
	if (missing.length > 0) {
		throw new Failure("failed", `missing: ${missing.join(" ")}`, {
			hint: "`svc secret set` writes a secret, `svc secret list` shows those that are there",
		});
	}
}

async function readNames(file: string): Promise<string[]> {
	try {
		return parseDotenv(decodeDotenv(await readFile(file))).map(({ key }) => key);
	} catch (error) {
		throw error instanceof DotenvError ? new Failure("failed", `${file}: ${error.message}`) : error;
	}
}
