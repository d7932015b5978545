import { join } from "node:path";
import type { Account } from "../accounts/model.ts";
import { systemEvent } from "../audit/model.ts";
import type { Config } from "../config.ts";
import { newCode } from "../crypto/codes.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { requireMasterKey } from "../crypto/master-key.ts";
import { FatalError } from "../errors.ts";
import { TLS_FILES } from "../http/tls-files.ts";
import { normalEmail } from "../normal-text.ts";
import { type Recovery, resetRow } from "../resets/model.ts";
import { checkDataDirectory, DATABASE_FILES } from "../store/sqlite/files.ts";
import { hasDatabase } from "../store/sqlite/restored.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { system } from "../system.ts";
import type { OfflineStore } from "./offline-model.ts";

/** The account to recover and the database that was found, for a person to look at. */
export interface Recoverable {
	/** The database's file, or its address without the password. */
	place: string;
	/** Fingerprint of the master key. */
	fingerprint: string;
	/** Number of accounts. */
	accounts: number;
	account: Pick<Account, "email" | "name" | "instance_admin" | "disabled_at">;
}

/** The account to recover, and whether without its second factors. */
interface Wanted {
	email: string;
	drop_factors: boolean;
}

/** A code for the account, shown once, and what else was done for it. */
export interface Recovered extends Omit<Extract<Recovery, { outcome: "done" }>, "outcome"> {
	email: string;
	code: string;
	expires_at: string;
}

/**
 * Makes a reset code for an instance admin, on the server's machine while no server runs: also for one who is disabled, which enables the account, or who has
 * no password. `drop_factors` works for every account, and ends its second factors, password and sessions. When no enabled instance admin is left, any
 * account becomes one. Killed at any moment, it leaves the database as it was or with all of that.
 * @param confirm asks for confirmation before anything changes
 * @returns undefined when it was not confirmed
 * @throws FatalError when a server runs, there is no database or it has no such account, the master key is another one, or the database was altered
 * Design: §15
 */
export async function recoverAccount(
	config: Config,
	{ email, drop_factors }: Wanted,
	confirm: (found: Recoverable) => Promise<boolean>,
): Promise<Recovered | undefined> {
	const failed = Promise.withResolvers<never>();
	const opened = await openOffline(config, failed.reject);
	try {
		return await Promise.race([recoverIn(opened, config, { email, drop_factors }, confirm), failed.promise]);
	} finally {
		await opened.store.close();
	}
}

/** Opens the store of a server that does not run, of this version. */
async function openOffline(config: Config, onFailure: (error: FatalError) => void): Promise<OfflineStore> {
	const { data_dir } = config;
	if (config.database !== undefined) {
		const { openNetworkedOffline } = await import("./networked-command.ts");
		return openNetworkedOffline(config, onFailure);
	}
	// Opening would make one.
	if (!hasDatabase(data_dir)) {
		throw new FatalError(`${data_dir} has no database: give svc the settings of the server, such as SVC_DATA_DIR`);
	}
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const store = await openSqliteStore({
		directory: data_dir,
		now: system.now(),
		onFailure,
		async beforeMigration() {
			throw new FatalError("the database is of an earlier version: start the server once, stop it, then recover");
		},
	});
	return { store, place: join(data_dir, "svc.db") };
}

async function recoverIn(
	{ store, place }: OfflineStore,
	config: Config,
	{ email, drop_factors }: Wanted,
	confirm: (found: Recoverable) => Promise<boolean>,
): Promise<Recovered | undefined> {
	const fingerprint = await store.keys.fingerprint();
	if (fingerprint === undefined || !(await store.accounts.hadAny())) {
		throw new FatalError(`${place} has no accounts: if it is the server's, \`svc init\` makes the first`);
	}
	const { key } = await requireMasterKey(config, fingerprint);
	const keyring = await openKeyring({ keys: store.keys, guard: store.guard, master: key.reveal(), system });
	await refuseAltered(store, place);
	const account = await store.accounts.byEmail(normalEmail(email));
	if (account === undefined) throw new FatalError("the database has no account with this e-mail");
	const accounts = await store.accounts.count();
	if (!(await confirm({ place, fingerprint, accounts, account }))) return undefined;
	const { code, digest } = newCode({ keyring, system }, "reset");
	const now = system.now();
	const row = resetRow({ user_id: account.id, digest, created_by: "system" }, now);
	const event = systemEvent(now, "user.recovered", undefined, { user_id: account.id, expires_at: row.expires_at });
	const recovery = await store.resets.recover({ ...row, drop_factors }, event);
	if (recovery.outcome === "done") {
		const { outcome: _, ...done } = recovery;
		return { email: account.email, code, expires_at: row.expires_at, ...done };
	}
	throw new FatalError(
		"the account is no instance admin, and another account is: recover that one, or end a lost second factor with --drop-second-factor",
	);
}

/** Refuses what a server would not believe: nothing may be written over it that looks sound. */
async function refuseAltered(store: Store, place: string): Promise<void> {
	const found = [...(await store.health.alterations()), ...(await store.checkIntegrity()).access];
	if (found.length === 0) return;
	throw new FatalError(
		`another program altered ${place}: look at it with \`svc adopt --look\`, then \`svc adopt --again\``,
	);
}
