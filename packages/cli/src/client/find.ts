import { Failure } from "../failure.ts";
import type { Answer } from "./answer.ts";
import { type Client, send } from "./client.ts";

/** Reads what is at this path, which the API's PUT would change; undefined when there is nothing. */
export async function findAt(client: Client, at: string): Promise<Answer | undefined> {
	try {
		return await send(client, { method: "GET", path: at });
	} catch (error) {
		if (error instanceof Failure && error.status === 404) return undefined;
		throw error;
	}
}
