import { join } from "node:path";
import { Failure } from "../failure.ts";
import { type Io, setting } from "../io/io.ts";
import { checkToken, readTokenFile } from "./token-file.ts";

/** A token that the environment of the command gives; it is used instead of the session of `svc login`. */
export interface GivenToken {
	readonly token: string;
	/** Where it is from, for a person. */
	readonly source: string;
}

/** Name of the credential in `LoadCredential=svc-token:…` of a systemd unit. */
const CREDENTIAL = "svc-token";

/**
 * Finds the token that the environment gives: SVC_TOKEN, else the file that SVC_TOKEN_FILE names, else systemd's credential svc-token. Design: §15
 * @throws Failure usage when it cannot be a token, or its file is missing, cannot be read, or can be written by others
 */
export async function findGivenToken(io: Io): Promise<GivenToken | undefined> {
	const text = setting(io, "SVC_TOKEN");
	if (text !== undefined) return { token: checkToken(text.trim(), "SVC_TOKEN"), source: "SVC_TOKEN" };
	const file = setting(io, "SVC_TOKEN_FILE");
	if (file !== undefined) {
		const source = "the file of SVC_TOKEN_FILE";
		const token = await readTokenFile(file, source);
		if (token === undefined) throw new Failure("usage", `${source} cannot be read (ENOENT)`);
		return { token, source };
	}
	const directory = setting(io, "CREDENTIALS_DIRECTORY");
	const source = `systemd's credential ${CREDENTIAL}`;
	const token = directory === undefined ? undefined : await readTokenFile(join(directory, CREDENTIAL), source);
	return token === undefined ? undefined : { token, source };
}
