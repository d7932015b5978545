import { type Answer, rows } from "./answer.ts";
import { type Client, send } from "./client.ts";

/** Asks for the second factors of the account. */
export const askFactors = (client: Client): Promise<Answer> => send(client, { method: "GET", path: "auth/factors" });

/** Tells whether a login asks for the factor. */
export const isConfirmed = ({ confirmed_at }: Answer): boolean => typeof confirmed_at === "string";

/** Tells whether a change to the ways to sign in asks for a code in addition to the password. */
export async function needsCode(client: Client): Promise<boolean> {
	return rows(await askFactors(client), "factors").some(isConfirmed);
}
