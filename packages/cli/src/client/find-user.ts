import { Failure } from "../failure.ts";
import { type Answer, text } from "./answer.ts";
import { type Client, path, send } from "./client.ts";

/** An account, by its id or e-mail. @throws Failure notFound when there is none, denied for all but the instance's administrators */
export function findUser(client: Client, user: string): Promise<Answer> {
	return send(client, { method: "GET", path: path`users/${user}` });
}

/** The id of an account; an e-mail is looked up. @throws Failure notFound when there is none, denied for an e-mail for all but the instance's administrators */
export async function findUserId(client: Client, user: string): Promise<string> {
	if (!user.includes("@")) return user;
	try {
		return text(await findUser(client, user), "id");
	} catch (error) {
		if (!(error instanceof Failure) || error.code !== "forbidden") throw error;
		const { code, status } = error;
		throw new Failure("denied", "only the instance admin can name a user by e-mail", {
			hint: "give the user's id: `svc whoami` shows it to each user",
			code,
			status,
		});
	}
}
