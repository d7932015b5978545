import { cp } from "node:fs/promises";
import { join } from "node:path";
import { makeBackup } from "../backups/make.ts";
import { type Config, readConfig } from "../config.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { loadMasterKey } from "../crypto/master-key.ts";
import { sealValue } from "../secrets/value.ts";
import { wireBackups } from "../wiring/backups.ts";
import { anEvent, aVersion } from "./rows.ts";
import { addAccount, addRealm } from "./rules.ts";
import { type Cleanup, makeFolder, openTestStore } from "./store.ts";
import { createTestSystem } from "./system.ts";

/** The accounts in the database; the backup has the first of them only. */
export const ACCOUNTS = ["before@example.com", "since@example.com"] as const;

/** A server's data directory with a backup in it, and the configuration to read it. */
export interface BackedUp {
	/** As a killed server leaves it: with its log. */
	directory: string;
	/** A copy of the backup outside the data directory. */
	backup: string;
	config: Config;
}

/** Makes a server with an account and a secret, a backup of it, and then one more account. */
export async function makeBackedUp(cleanup: Cleanup): Promise<BackedUp> {
	const used = await makeFolder(cleanup);
	const { store } = await openTestStore(cleanup, used, false);
	const system = createTestSystem();
	const config = readConfig({ SVC_DATA_DIR: used }, used);
	const { key } = await loadMasterKey(config, undefined, system);
	const keyring = await openKeyring({ keys: store.keys, guard: store.guard, master: key.reveal(), system });
	const realm = await addRealm(store, await addAccount(store, { email: ACCOUNTS[0] }), { keyring });
	const version = aVersion(realm.id, "KEY");
	await store.secrets.set({ ...version, value: await sealValue({ keyring, system }, version, "a value") }, anEvent());
	const name = await makeBackup(wireBackups({ config, store, keyring, system }), "svc", system.now());
	await addAccount(store, { email: ACCOUNTS[1] });
	const directory = await makeFolder(cleanup);
	await cp(used, directory, { recursive: true, preserveTimestamps: true });
	const backup = join(await makeFolder(cleanup), "backup.db");
	await cp(join(used, "backups", name), backup);
	return { directory, backup, config: readConfig({ SVC_DATA_DIR: directory }, directory) };
}
