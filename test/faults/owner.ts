import type { Api } from "../harness/client.ts";
import { apiToken, type Person, person, realm } from "../harness/fixtures.ts";

/** The part of a fresh server that a fault test needs: its instance admin, an API token with every scope, and a realm. */
export interface Owner {
	readonly admin: Person;
	readonly token: string;
	readonly slug: string;
}

/** Registers the first account of a server, and gives it a token and a realm. */
export async function newOwner(api: Api): Promise<Owner> {
	const admin = await person(api, "owner");
	const { token } = await apiToken(api, admin, "read,write,delete");
	const { slug } = await realm(api, admin);
	return { admin, token, slug };
}
