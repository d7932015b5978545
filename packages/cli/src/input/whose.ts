import { text } from "../client/answer.ts";
import { type Client, path } from "../client/client.ts";
import { findUser } from "../client/find-user.ts";
import { option } from "../command-line/command.ts";

/** Names the account whose sessions or tokens a command is about. */
export interface WhoseOptions {
	readonly user?: string;
}

/** Lets an instance admin name an account other than their own. */
export const USER_OPTION = option("--user <user>", "of this account, by id or e-mail; for instance admins");

/** Path of the list of the caller's sessions or tokens, or of those of the named account. @throws Failure as `findUser` does */
export async function listOf(client: Client, { user }: WhoseOptions, what: "sessions" | "tokens"): Promise<string> {
	if (user === undefined) return `auth/${what}`;
	return path`users/${text(await findUser(client, user), "id")}/${what}`;
}
