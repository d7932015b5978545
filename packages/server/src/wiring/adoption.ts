import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Difference, StrangeEvent } from "../audit/comparison.ts";
import type { ChainReport } from "../audit/model.ts";
import { proveLog } from "../audit/proof.ts";
import { frozenKeys, withCopy } from "../backups/check.ts";
import type { AdoptionPreview } from "../backups/model.ts";
import type { Config } from "../config.ts";
import { rowKeysOf } from "../crypto/first-keys.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { type MasterKey, requireMasterKey } from "../crypto/master-key.ts";
import { FatalError } from "../errors.ts";
import { TLS_FILES } from "../http/tls-files.ts";
import { adoptRows, isBeforeMacs, markAdopted, migrateCopy, wasAdopted } from "../store/sqlite/adopt.ts";
import { checkDataDirectory, DATABASE_FILES, lockDataDirectory } from "../store/sqlite/files.ts";
import { adoptRestored, hasDatabase } from "../store/sqlite/restored.ts";
import { refuseAlteredSchema } from "../store/sqlite/schema-alterations.ts";
import { openSnapshot, takeSnapshot } from "../store/sqlite/snapshots.ts";
import { system } from "../system.ts";
import { backUpBefore } from "./backups.ts";
import { requireSqlite } from "./sqlite-only.ts";

/** A database that an adoption would believe, for a person to look at. */
export interface Adoptable {
	rows: AdoptionPreview;
	/** Parts that do not fit the keys of its rows; empty for a database from before its rows authenticated themselves. */
	misfits: string[];
	log: ChainReport;
	/** Rows that grant something other than the log says. */
	differences: Difference[];
	/** Events of an account, token or session that was not there. */
	strange: StrangeEvent[];
}

/** Options of an adoption, made on the server's machine while no server runs. */
export interface AdoptionOptions {
	/** Believes a database that was adopted before, or that the server never had to adopt. */
	again: boolean;
	/** Asks for confirmation before anything changes. */
	confirm(found: Adoptable): Promise<boolean>;
}

/**
 * Believes the database as it is: one from before its rows authenticated themselves, or one that another program altered. A backup is made first.
 * @returns the number of rows, and the backup; undefined when it was not confirmed
 * @throws FatalError when a server runs, there is nothing to adopt, the master key is another one, or it was believed before and `again` is not set
 * Design: §13
 */
export async function adoptDatabase(
	config: Config,
	{ again, confirm }: AdoptionOptions,
): Promise<{ rows: number; backup: string } | undefined> {
	requireSqlite(config, "svc adopt");
	const { data_dir } = config;
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const unlock = lockDataDirectory(data_dir);
	const file = join(data_dir, "svc.db");
	try {
		adoptRestored(data_dir);
		if (!hasDatabase(data_dir)) throw noDatabase(data_dir);
		const isBefore = isBeforeMacs(file);
		if (!again && (!isBefore || wasAdopted(data_dir))) {
			throw new FatalError("the server believed this database before: --again believes it once more, as it is now");
		}
		refuseAlteredSchema(file);
		const { key, found } = await inspect(config, file, isBefore);
		if (!(await confirm(found))) return undefined;
		const backup = await backUpBefore({ config, system }, "adoption", (to) => takeSnapshot(file, to), again);
		const event = {
			timestamp: system.now().toISOString(),
			type: "rows.adopted",
			actor: "system",
			realm_id: "",
			realm: "",
			data: { backup, again },
		} as const;
		const rows = adoptRows(file, (shared) => rowKeysOf(key.reveal(), shared, system), event);
		markAdopted(data_dir, event.timestamp);
		return { rows, backup };
	} finally {
		unlock();
	}
}

/**
 * Compares a database with the keys of its rows and with its audit log, while no server runs. Changes nothing.
 * @throws FatalError when a server runs, there is no database, its schema was altered, or the master key is another one
 * Design: §13
 */
export async function inspectDatabase(config: Config): Promise<Adoptable> {
	requireSqlite(config, "svc adopt --look");
	const { data_dir } = config;
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const unlock = lockDataDirectory(data_dir);
	const file = join(data_dir, "svc.db");
	try {
		if (!hasDatabase(data_dir)) throw noDatabase(data_dir);
		refuseAlteredSchema(file);
		return (await inspect(config, file, isBeforeMacs(file))).found;
	} finally {
		unlock();
	}
}

const noDatabase = (data_dir: string) => new FatalError(`${data_dir} has no database: start the server to make one`);

/** Inspects a copy with today's schema, under the master key that the settings name. */
async function inspect(
	config: Config,
	file: string,
	isBefore: boolean,
): Promise<Pick<MasterKey, "key"> & { found: Adoptable }> {
	const draft = join(config.data_dir, "svc.db.adopting");
	const remove = () => {
		for (const part of ["", "-wal", "-shm"]) rmSync(`${draft}${part}`, { force: true });
	};
	remove();
	try {
		writeFileSync(draft, "", { mode: 0o600 });
		await takeSnapshot(file, draft);
		migrateCopy(draft, system.now().toISOString());
		return await withCopy({ openSnapshot }, draft, async (copy) => {
			const [{ fingerprint = "" }, keys] = await Promise.all([copy.facts(), copy.keys()]);
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
