import { systemEvent } from "../audit/model.ts";
import { FatalError } from "../errors.ts";
import type { System } from "../system.ts";
import { openShared, type SharedKeys } from "./key-set.ts";
import { KEY_PURPOSES, type KeyRow, type KeyStore } from "./keyring-model.ts";
import { type Guard, listRowKeys } from "./row-keys.ts";
import type { RowKey } from "./row-macs.ts";
import type { DataKey } from "./seal.ts";
import { fingerprintOf, importMaster, newKeyRow, unwrapKey, wraps } from "./wrap.ts";

/** sysexits EX_DATAERR. */
const DATA_DAMAGED = 65;

/** Dependencies of the keyring. */
export interface KeyringNeeds {
	keys: KeyStore;
	/** Receives the keys of rows, the active one first, before anything is stored or believed, and whenever they change. */
	guard?: Guard;
	/** Runs work while no other server that uses the store runs such work. */
	alone?<Result>(work: () => Promise<Result>): Promise<Result>;
	/** Finds the master key that another server has put in use; undefined where this server does not have it. */
	findMaster?: ((fingerprint: string) => Promise<Buffer | undefined>) | undefined;
	system: Pick<System, "now" | "randomBytes">;
}

/** Finds the keys of rows among the instance's keys, or makes the first. @throws Error when one does not open under the master key */
export function rowKeysOf(
	master_bytes: Buffer,
	shared: KeyRow[],
	system: Pick<System, "now" | "randomBytes">,
): { keys: RowKey[]; added: KeyRow | undefined } {
	const master = importMaster(master_bytes);
	const added = shared.some(({ purpose }) => purpose === "rows") ? undefined : newKeyRow(master, "rows", "", system);
	const rows = added === undefined ? shared : [...shared, added];
	return { keys: listRowKeys(openAtStart(master, rows).rows), added };
}

/** Makes the first keys. @returns false when another server made them first: its keys are used */
export function makeFirst(needs: KeyringNeeds, master: DataKey): Promise<boolean> {
	const { alone = (work) => work() } = needs;
	return alone(async () => (await needs.keys.fingerprint()) === undefined && initialize(needs, master));
}

async function initialize({ keys, system, guard }: KeyringNeeds, master: DataKey): Promise<boolean> {
	const fingerprint = fingerprintOf(master);
	const rows = KEY_PURPOSES.map((purpose) => newKeyRow(master, purpose, "", system));
	await guard?.(listRowKeys(openAtStart(master, rows).rows));
	const event = systemEvent(system.now(), "key.created", undefined, { fingerprint });
	return (await keys.initialize({ fingerprint, keys: rows }, event)) === "done";
}

/** Makes the error for data that cannot be opened. */
export function noKeyring(): FatalError {
	return new FatalError("the database holds data but no keyring to open it: restore it from a backup", DATA_DAMAGED);
}

/** Opens the shared keys. @throws FatalError when one does not open */
export function openAtStart(master: DataKey, rows: KeyRow[]): SharedKeys {
	try {
		return openShared(rows, (row) => unwrapWith([master], row));
	} catch (cause) {
		throw new FatalError("the keyring is damaged: restore the database from a backup", DATA_DAMAGED, { cause });
	}
}

/** Opens a key with the master key that wraps it. @throws Error when none of these does */
export function unwrapWith(masters: DataKey[], row: KeyRow): Buffer {
	const master = masters.find((candidate) => wraps(candidate, row));
	const bytes = master && unwrapKey(master, row);
	if (bytes === undefined) throw new Error(`key ${row.id.toString("hex")} cannot be opened with the master key`);
	return bytes;
}
