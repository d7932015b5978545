import type { Config } from "../config.ts";
import { FatalError } from "../errors.ts";

/** Refuses a command that only works on a database of SQLite. @throws FatalError when the settings name PostgreSQL */
export function requireSqlite({ database }: Pick<Config, "database">, command: string): void {
	if (database === undefined) return;
	throw new FatalError(
		`\`${command}\` does not work on PostgreSQL yet, and database_url (SVC_DATABASE_URL) names one: nothing was changed`,
	);
}
