import { hostname } from "node:os";
import { explainFailure } from "../backups/backups.ts";
import type { CheckNeeds } from "../backups/check.ts";
import { newestAt } from "../backups/folder.ts";
import { makeBackup } from "../backups/make.ts";
import type { BackupSource, Samples } from "../backups/model.ts";
import type { Config } from "../config.ts";
import { type Keyring, openKeyring } from "../crypto/keyring.ts";
import type { KeyRow, KeyStore } from "../crypto/keyring-model.ts";
import { loadMasterKey } from "../crypto/master-key.ts";
import type { Openers } from "../doctor/sealed.ts";
import { createConfigSealer } from "../engines/config/sealed-config.ts";
import { FatalError } from "../errors.ts";
import type { Factor } from "../factors/model.ts";
import { openFactor } from "../factors/use.ts";
import { VERSION } from "../health/build.ts";
import type { SecretVersion } from "../secrets/model.ts";
import { openStored } from "../secrets/value.ts";
import type { ProviderRow } from "../sso/model.ts";
import { openProvider } from "../sso/providers.ts";
import { openSnapshot } from "../store/sqlite/snapshots.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";

/** sysexits EX_CANTCREAT. */
const CANNOT_CREATE = 73;

/** Makes the checker of backups, the same in the server, before a migration, and without a server. */
export function createChecker(openKeys: CheckNeeds["openKeys"], system: System): CheckNeeds {
	return { openSnapshot, openKeys, openSamples: (keyring, samples) => openSamples(keyring, samples, system) };
}

/** Makes the dependencies of backups for the running server. */
export function wireBackups(needs: { config: Config; store: Store; keyring: Keyring; system: System }) {
	const { config, store, keyring, system } = needs;
	return {
		...createChecker((keys) => keyring.ofCopy(keys), system),
		folder: config.backup,
		copyTo: store.copyTo,
		version: VERSION,
		node: store.claims.isShared ? hostname() : undefined,
		newestAt: () => newestAt(config.backup),
	};
}

/**
 * Backs up the database before a migration or an adoption, with the master key that the server is about to use.
 * @param isEvidence keeps the database as it is, believed or not
 * @returns its name
 * @throws FatalError that says what to do, with nothing changed
 */
export async function backUpBefore(
	{ config, system }: { config: Config; system: System },
	step: string,
	copyTo: BackupSource["copyTo"],
	isEvidence = false,
): Promise<string> {
	const openKeys = async (keys: KeyStore) => {
		const { key } = await loadMasterKey(config, await keys.fingerprint(), system);
		return openKeyring({ keys, master: key.reveal(), system });
	};
	const needs = { ...createChecker(openKeys, system), folder: config.backup, copyTo, version: VERSION, isEvidence };
	try {
		return await makeBackup(needs, `before-${step}`, system.now());
	} catch (cause) {
		// The master key is missing or the wrong one: that needs fixing first.
		if (cause instanceof FatalError) throw cause;
		const { message: reason } = explainFailure(cause);
		throw new FatalError(`the backup of the database failed, so nothing was changed: ${reason}`, CANNOT_CREATE, {
			cause,
		});
	}
}

/** Makes the functions that open a sealed row of each kind. They throw when it does not open. */
export function createOpeners(keyring: Keyring, system: System) {
	const sealer = createConfigSealer({ keyring, system });
	return {
		values: (row: SecretVersion) => openStored({ keyring }, { ...row, pre_encrypted: Boolean(row.pre_encrypted) }),
		deleted_values: (row: SecretVersion) =>
			openStored({ keyring }, { ...row, pre_encrypted: Boolean(row.pre_encrypted) }),
		configs: sealer.open,
		payloads: ({ id, payload }: Samples["lease_payloads"][number]) => sealer.openPayload(id, payload),
		factors: (row: Factor) => openFactor({ keyring }, row),
		providers: (row: ProviderRow) => openProvider({ keyring }, row),
		keys(row: KeyRow) {
			if (!keyring.holds(row)) throw new Error("the key cannot be opened");
		},
	} satisfies Openers;
}

/** Opens the sealed rows of each kind with the keyring. @throws AppError when one does not open */
async function openSamples(keyring: Keyring, samples: Samples, system: System): Promise<void> {
	const open = createOpeners(keyring, system);
	for (const row of samples.secrets) await open.values(row);
	for (const row of samples.engine_configs) await open.configs(row);
	for (const row of samples.lease_payloads) await open.payloads(row);
	for (const row of samples.sso_providers) await open.providers(row);
}
