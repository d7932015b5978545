import type { Answer } from "./answer.ts";
import { type Client, path, send } from "./client.ts";

/** An account, by its id or e-mail. @throws Failure notFound when there is none, denied for all but the instance's administrators */
export function findUser(client: Client, user: string): Promise<Answer> {
	return send(client, { method: "GET", path: path`users/${user}` });
}
