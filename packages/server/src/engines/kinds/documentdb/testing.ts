/* Shared by the tests of this kind. */
import { NAME, PASSWORD } from "../testing.ts";
import type { DocCreate } from "./command.ts";

/** Makes a command that creates a user of a document database. */
export function docCreate(username = NAME, role = "read", db = "app"): DocCreate {
	const document = { createUser: username, pwd: PASSWORD, roles: [{ role, db }], mechanisms: ["SCRAM-SHA-256"] };
	return { username, password: PASSWORD, document };
}
