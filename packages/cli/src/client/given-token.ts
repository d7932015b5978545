import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { type Io, setting } from "../io/io.ts";

/** A token that the environment of the command gives; it is used instead of the session of `svc login`. */
export interface GivenToken {
	readonly token: string;
	/** Where it is from, for a person. */
	readonly source: string;
}

/** Name of the credential in `LoadCredential=svc-token:…` of a systemd unit. */
const CREDENTIAL = "svc-token";

/**
 * Finds the token that the environment gives: SVC_TOKEN, else the file that SVC_TOKEN_FILE names, else systemd's credential svc-token. A line break
 * at its end, as files have it, is not part of it. Design: §15
 * @throws Failure usage when it cannot be a token, or its file cannot be read
 */
export async function findGivenToken(io: Io): Promise<GivenToken | undefined> {
	const text = setting(io, "SVC_TOKEN");
	if (text !== undefined) return checked(text, "SVC_TOKEN");
	const file = setting(io, "SVC_TOKEN_FILE");
	if (file !== undefined) return checked(await readToken(file), "the file of SVC_TOKEN_FILE");
	const directory = setting(io, "CREDENTIALS_DIRECTORY");
	const credential = directory === undefined ? undefined : await readCredential(join(directory, CREDENTIAL));
	return credential === undefined ? undefined : checked(credential, `systemd's credential ${CREDENTIAL}`);
}

function checked(text: string, source: string): GivenToken {
	const token = text.trim();
	if (token === "") throw new Failure("usage", `${source} is empty`);
	if (!/^[\x21-\x7e]+$/.test(token)) throw new Failure("usage", `${source} holds characters that no token has`);
	return { token, source };
}

async function readToken(file: string): Promise<string> {
	try {
		return await readFile(file, "utf8");
	} catch (cause) {
		const { code = "error" } = cause as NodeJS.ErrnoException;
		throw new Failure("usage", `the file of SVC_TOKEN_FILE cannot be read (${code})`, { cause });
	}
}

/** Reads the credential; undefined when the unit has none of this name. */
async function readCredential(file: string): Promise<string | undefined> {
	try {
		return await readFile(file, "utf8");
	} catch (cause) {
		const { code = "error" } = cause as NodeJS.ErrnoException;
		if (code === "ENOENT") return undefined;
		throw new Failure("usage", `systemd's credential ${CREDENTIAL} cannot be read (${code})`, { cause });
	}
}
