import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemEvent } from "../audit/model.ts";
import { proveLog } from "../audit/proof.ts";
import { frozenKeys, withCopy } from "../backups/check.ts";
import type { Config } from "../config.ts";
import { rowKeysOf } from "../crypto/first-keys.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { requireMasterKey } from "../crypto/master-key.ts";
import { FatalError } from "../errors.ts";
import { adoptRows, isBeforeMacs, markAdopted, migrateCopy, wasAdopted } from "../store/sqlite/adopt.ts";
import { adoptRestored, hasDatabase } from "../store/sqlite/restored.ts";
import { refuseAlteredSchema } from "../store/sqlite/schema-alterations.ts";
import { openSnapshot, takeSnapshot } from "../store/sqlite/snapshots.ts";
import { system } from "../system.ts";
import { backUpBefore } from "./backups.ts";
import { whileOffline } from "./offline-directory.ts";
import type { Adoptable, AdoptionOptions, CopyTo, Inspected } from "./offline-model.ts";

/**
 * Believes the database as it is: one from before its rows authenticated themselves, or one that another program altered. A backup is made first. With
 * `again`, a server that refuses every request because of the alteration is ended.
 * @returns the number of rows, and the backup; undefined when it was not confirmed
 * @throws FatalError when a server runs, there is nothing to adopt, the master key is another one, or it was believed before and `again` is not set
 * Design: §13
 */
export async function adoptDatabase(
	config: Config,
	{ again, confirm, onEnding }: AdoptionOptions,
): Promise<{ rows: number; backup: string } | undefined> {
	const { data_dir } = config;
	const file = join(data_dir, "svc.db");
	const beforeEnding = (pid: number) => {
		refuseAlteredSchema(file);
		onEnding?.(pid);
	};
	const work = async () => {
		if (config.database !== undefined) {
			const { adoptNetworked } = await import("./networked-adoption.ts");
			return await adoptNetworked(config, { again, confirm }, (copyTo) => inspect(config, copyTo, false));
		}
		adoptRestored(data_dir);
		if (!hasDatabase(data_dir)) throw noDatabase(data_dir);
		const isBefore = isBeforeMacs(file);
		if (!again && (!isBefore || wasAdopted(data_dir))) {
			throw new FatalError("the server believed this database before: --again believes it once more, as it is now");
		}
		refuseAlteredSchema(file);
		const copyTo: CopyTo = (to) => takeSnapshot(file, to);
		const { key, found } = await inspect(config, copyTo, isBefore);
		if (!(await confirm(found))) return undefined;
		const backup = await backUpBefore({ config, system }, "adoption", copyTo, again);
		const event = systemEvent(system.now(), "rows.adopted", undefined, { backup, again });
		const rows = adoptRows(file, (shared) => rowKeysOf(key.reveal(), shared, system), event);
		markAdopted(data_dir, event.timestamp);
		return { rows, backup };
	};
	return whileOffline(data_dir, work, again ? beforeEnding : undefined);
}

/**
 * Compares a database with the keys of its rows and with its audit log, while no server runs. Changes nothing.
 * @throws FatalError when a server runs, there is no database, its schema was altered, or the master key is another one
 * Design: §13
 */
export async function inspectDatabase(config: Config): Promise<Adoptable> {
	const { data_dir } = config;
	const file = join(data_dir, "svc.db");
	return whileOffline(data_dir, async () => {
		if (config.database !== undefined) {
			const { inspectNetworked } = await import("./networked-adoption.ts");
			return await inspectNetworked(config, (copyTo) => inspect(config, copyTo, false));
		}
		if (!hasDatabase(data_dir)) throw noDatabase(data_dir);
		refuseAlteredSchema(file);
		return (await inspect(config, (to) => takeSnapshot(file, to), isBeforeMacs(file))).found;
	});
}

const noDatabase = (data_dir: string) => new FatalError(`${data_dir} has no database: start the server to make one`);

const EMPTY =
	"the database is empty: restore a backup; to begin a new server with this data directory and master key, start it once, stop it, and then adopt";

/** Inspects a copy with today's schema, under the master key that the settings name. */
async function inspect(config: Config, copyTo: CopyTo, isBefore: boolean): Promise<Inspected> {
	const draft = join(config.data_dir, "svc.db.adopting");
	const remove = () => {
		for (const part of ["", "-wal", "-shm"]) rmSync(`${draft}${part}`, { force: true });
	};
	remove();
	try {
		writeFileSync(draft, "", { mode: 0o600 });
		await copyTo(draft);
		migrateCopy(draft, system.now().toISOString());
		return await withCopy({ openSnapshot }, draft, async (copy) => {
			const [{ fingerprint }, keys] = await Promise.all([copy.facts(), copy.keys()]);
			if (fingerprint === undefined) throw new FatalError(EMPTY);
			const { key } = await requireMasterKey(config, fingerprint);
			const keyring = await openKeyring({ keys: frozenKeys(fingerprint, keys), master: key.reveal(), system });
			const { report: log } = await proveLog(copy.audit, keyring, undefined);
			const misfits = isBefore ? [] : Object.values(await copy.checkIntegrity(keyring.rows())).flat();
			const [rows, { differences, strange }] = await Promise.all([
				copy.adoptionPreview(),
				copy.compare(keyring.rows()),
			]);
			return { key, found: { rows, misfits, log, differences, strange } };
		});
	} finally {
		remove();
	}
}
