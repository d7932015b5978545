import { systemEvent } from "../audit/model.ts";
import type { Config } from "../config.ts";
import { rowKeysOf } from "../crypto/first-keys.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import { FatalError } from "../errors.ts";
import { type Address, nameOf } from "../store/postgres/address.ts";
import { adoptRows } from "../store/postgres/adopt.ts";
import type { Connection } from "../store/postgres/connection.ts";
import { migrate } from "../store/postgres/migrate.ts";
import { BEGIN_SNAPSHOT } from "../store/postgres/read-pools.ts";
import { exportToSqlite } from "../store/postgres/sqlite-export.ts";
import { isEmpty } from "../store/postgres/sqlite-load.ts";
import { system } from "../system.ts";
import { backUpBefore } from "./backups.ts";
import { onDatabase } from "./networked-command.ts";
import { refuseEmbedded } from "./networked-store.ts";
import type { Adoptable, AdoptionOptions, CopyTo, Inspected } from "./offline-model.ts";

const LOST = "run the command again";

/** Believes the database that `database_url` names as it is. @param inspect looks at a copy of it @throws FatalError as `adoptDatabase` */
export function adoptNetworked(
	config: Config,
	{ again, confirm }: AdoptionOptions,
	inspect: (copyTo: CopyTo) => Promise<Inspected>,
): Promise<{ rows: number; backup: string } | undefined> {
	return onDatabase(config, LOST, async (connection, address) => {
		await requireOwn(config, connection, address);
		if (!again)
			throw new FatalError("the server believed this database before: --again believes it once more, as it is now");
		const copyTo = (file: string) => exportToSqlite(address, file);
		const { key, found } = await inspect(copyTo);
		if (!(await confirm(found))) return undefined;
		const backup = await backUpBefore({ config, system }, "adoption", copyTo, again);
		return { rows: await adopt(connection, key, { backup, again }), backup };
	});
}

function adopt(connection: Connection, key: MasterKey["key"], data: { backup: string; again: boolean }) {
	const event = systemEvent(system.now(), "rows.adopted", undefined, data);
	return adoptRows(connection, (shared) => rowKeysOf(key.reveal(), shared, system), event);
}

/** Looks at the database that `database_url` names, and changes nothing. @throws FatalError as `inspectDatabase` */
export function inspectNetworked(config: Config, inspect: (copyTo: CopyTo) => Promise<Inspected>): Promise<Adoptable> {
	return onDatabase(config, LOST, async (connection, address) => {
		await requireOwn(config, connection, address);
		return (await inspect((file) => exportToSqlite(address, file))).found;
	});
}

/** Requires a database of this version that holds something, whose schema nobody altered. */
async function requireOwn(config: Config, connection: Connection, address: Address): Promise<void> {
	refuseEmbedded(config.data_dir);
	if (await isEmpty(connection))
		throw new FatalError(`${nameOf(address)} holds nothing: start the server to make its database`);
	const findAlterations = await migrate(connection, system.now().toISOString(), "refuse");
	const altered = await connection.transaction(BEGIN_SNAPSHOT, () => findAlterations(connection));
	if (altered.length > 0)
		throw new FatalError(
			`the database's schema was altered by another program (${altered.join(", ")}): restore a backup into an empty database`,
		);
}
