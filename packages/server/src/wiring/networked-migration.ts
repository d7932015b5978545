import type { Config } from "../config.ts";
import { FatalError } from "../errors.ts";
import { nameOf } from "../store/postgres/address.ts";
import { appliedIn, migrate } from "../store/postgres/migrate.ts";
import { system } from "../system.ts";
import { onDatabase } from "./networked-command.ts";

/** Migrations that were made, and where. */
export interface Migrated {
	/** Address of the database without the password. */
	place: string;
	made: number;
}

/** Brings the schema of the database that `database_url` names up to date. @throws FatalError when a server uses it, or its schema was altered */
export function migrateNetworked(config: Config): Promise<Migrated> {
	if (config.database === undefined)
		throw new FatalError(
			"`svc database migrate` is for PostgreSQL: name the owner and the database in SVC_DATABASE_URL",
		);
	return onDatabase(config, "run the command again", async (connection, address) => {
		const before = await appliedIn(connection);
		await migrate(connection, system.now().toISOString());
		return { place: nameOf(address), made: (await appliedIn(connection)).length - before.length };
	});
}
