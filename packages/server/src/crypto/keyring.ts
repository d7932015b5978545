import { createCache } from "../cache.ts";
import { AppError, FatalError } from "../errors.ts";
import type { Awaitable } from "../operation.ts";
import { type KeyringNeeds, makeFirst, noKeyring, openAtStart, unwrapWith } from "./first-keys.ts";
import { type KeySet, type MacKey, openShared, recordKey, type SharedKeys } from "./key-set.ts";
import { type KeyPurpose, type KeyRow, type KeyStore, MasterKeyReplaced } from "./keyring-model.ts";
import { createRowKeys, listRowKeys, type RowKeys } from "./row-keys.ts";
import type { RowKey } from "./row-macs.ts";
import { createRwLock } from "./rw-lock.ts";
import { type DataKey, keyIdOf } from "./seal.ts";
import type { SigningKey } from "./signing-key.ts";
import { fingerprintOf, importMaster, newKeyRow, unwrapKey, wraps } from "./wrap.ts";

/** Realms whose keys are held in memory at once: 1 KiB each. */
const MAX_REALMS = 16_384;

/**
 * Opens the keyring, or makes one in a new store.
 * @param master the master key's 32 bytes; you may overwrite them afterwards
 * @throws FatalError naming the required fingerprint when this is not the data's master key, and when keys are damaged or missing
 * Design: §5.
 */
export async function openKeyring(needs: KeyringNeeds & { master: Buffer }): Promise<Keyring> {
	return openUnder(importMaster(needs.master), needs);
}

async function openUnder(master: DataKey, needs: KeyringNeeds): Promise<Keyring> {
	const given = fingerprintOf(master);
	const isMade = (await needs.keys.fingerprint()) === undefined && (await makeFirst(needs, master));
	const needed = await needs.keys.fingerprint();
	if (needed === undefined) throw noKeyring();
	if (needed !== given) {
		throw new FatalError(
			`the data needs the master key with fingerprint ${needed}, but this key has ${given}: provide the right key; no other can open the data`,
		);
	}
	const shared = openAtStart(master, await needs.keys.shared());
	if (!isMade) await needs.guard?.(listRowKeys(shared.rows));
	return new Keyring(needs, master, shared);
}

/** All keys of the server, opened. Shared keys are in memory from the start, those of realms from their first use. Design: §5. */
export class Keyring {
	readonly #needs: KeyringNeeds;
	readonly #realms = createCache<string, KeySet<DataKey>>(MAX_REALMS);
	readonly #loading = new Map<string, Promise<KeySet<DataKey>>>();
	/** Shared while a key is added, exclusive while the master key changes: no row may be added under a master key that is gone a moment later. */
	readonly #lock = createRwLock();
	#master: DataKey;
	/** The next master key while rows move to it. */
	#incoming: DataKey | undefined;
	#shared: SharedKeys;
	readonly #rowKeys: RowKeys;

	/** Use `openKeyring`. */
	constructor(needs: KeyringNeeds, master: DataKey, shared: SharedKeys) {
		this.#needs = needs;
		this.#master = master;
		this.#shared = shared;
		this.#rowKeys = createRowKeys(() => listRowKeys(this.#shared.rows), needs.guard);
	}

	/** Returns the fingerprint of the master key in use. */
	get fingerprint(): string {
		return fingerprintOf(this.#master);
	}

	/**
	 * Finds the key that seals new records of a realm, or of the instance itself when `realm_id` is empty; without a promise when it is in memory.
	 * @throws AppError internal_error when the realm has no key
	 */
	record(realm_id: string): DataKey | Promise<DataKey> {
		return this.#inMemory(realm_id)?.active ?? this.#load(realm_id).then((keys) => keys.active);
	}

	/** Finds the key that sealed a box of this realm, active or retired; undefined when the box names no key of this realm. */
	recordFor(realm_id: string, box: Buffer): DataKey | undefined | Promise<DataKey | undefined> {
		const id = keyIdOf(box);
		if (id === undefined) return undefined;
		const keys = this.#inMemory(realm_id);
		return (keys && find(keys, id)) ?? this.#resolve(realm_id, id);
	}

	/** Returns the key for new `svc:v1:` text. */
	portable(): DataKey {
		return this.#shared.portable.active;
	}

	/** Finds the key with that id for `svc:v1:` text, active or retired. */
	portableById(id: Buffer): DataKey | undefined {
		return find(this.#shared.portable, id);
	}

	/** Returns the keys that sign sessions. */
	session(): KeySet<MacKey> {
		return this.#shared.session;
	}

	/** Returns the 32 bytes that authenticate cursors; a rotation invalidates all earlier cursors. */
	cursorKey(): Buffer {
		return this.#shared.cursor.active.bytes;
	}

	/** Returns the keys that sign the checkpoints of the audit log. */
	checkpoint(): KeySet<SigningKey> {
		return this.#shared.checkpoint;
	}

	/** Returns the keys of rows, the active one first; none in a database from before its rows authenticated themselves. */
	rows(): RowKey[] {
		return this.#rowKeys.all();
	}

	/** Returns the ids of keys of rows that a newer one replaces. */
	replacedRowKeys(): Buffer[] {
		const [, ...replaced] = listRowKeys(this.#shared.rows);
		return replaced.map(({ id }) => Buffer.from(id));
	}

	/**
	 * Makes a fresh key and passes its row to `insert`, which stores it before it resolves; again if another server has replaced the master key meanwhile.
	 * This server does not replace it in the meantime.
	 * @returns what `insert` returned
	 */
	withNewKey<T>(purpose: KeyPurpose, realm_id: string, insert: (row: KeyRow) => Promise<T>): Promise<T> {
		const add = () => {
			const row = newKeyRow(this.#master, purpose, realm_id, this.#needs.system);
			return purpose === "rows" ? this.#announce(row, () => insert(row)) : insert(row);
		};
		return this.#lock.shared(async () => {
			try {
				return await add();
			} catch (error) {
				if (!(error instanceof MasterKeyReplaced)) throw error;
				await this.#followMaster();
				return add();
			}
		});
	}

	#announce<T>(row: KeyRow, insert: () => Promise<T>): Promise<T> {
		return this.#rowKeys.announce({ id: row.id, bytes: this.#unwrap(row) }, async () => {
			try {
				return await insert();
			} finally {
				// A failed transaction may still have been committed: the store knows.
				await this.reload();
			}
		});
	}

	/** Tells whether a stored key opens under the master key. */
	holds(row: KeyRow): boolean {
		return this.#masters().some((master) => wraps(master, row) && unwrapKey(master, row)?.fill(0) !== undefined);
	}

	/**
	 * Opens the keyring of a copy of this store under the same master key.
	 * @throws FatalError as openKeyring
	 */
	async ofCopy(keys: KeyStore): Promise<Keyring> {
		return openUnder(this.#master, { system: this.#needs.system, keys });
	}

	/** Drops a realm's keys from memory, after a purge or a rotation. */
	forgetRealm(realm_id: string): void {
		this.#realms.delete(realm_id);
		this.#loading.delete(realm_id);
	}

	/** Reads the shared keys again, and drops those of realms from memory: another server has changed some. */
	async follow(): Promise<void> {
		this.#realms.clear();
		this.#loading.clear();
		await this.reload();
	}

	/** Reads the shared keys again. */
	async reload(): Promise<void> {
		const rows = await this.#read(() => this.#needs.keys.shared());
		this.#shared = openShared(rows, (row) => this.#unwrap(row));
		await this.#rowKeys.give();
	}

	/**
	 * Changes to another master key; meanwhile keys open under either. Use `rotateMasterKey`.
	 * @param rewrap moves every stored row; afterwards, even if it failed, the store decides which master key applies
	 * @throws AppError conflict when it is the key in use
	 */
	changeMaster(next: Buffer, rewrap: (from: DataKey, to: DataKey) => Promise<void>): Promise<void> {
		return this.#lock.exclusive(async () => {
			const to = importMaster(next);
			if (to.id.equals(this.#master.id)) throw new AppError("conflict", "the new master key is already in use");
			this.#incoming = to;
			try {
				await rewrap(this.#master, to);
			} finally {
				if ((await this.#needs.keys.fingerprint()) === fingerprintOf(to)) this.#master = to;
				this.#incoming = undefined;
			}
		});
	}

	#inMemory(realm_id: string): KeySet<DataKey> | undefined {
		return realm_id === "" ? this.#shared.record : this.#realms.get(realm_id);
	}

	async #load(realm_id: string): Promise<KeySet<DataKey>> {
		const running = this.#loading.get(realm_id);
		if (running !== undefined) return running;
		const reading = this.#readRealm(realm_id);
		this.#loading.set(realm_id, reading);
		try {
			const keys = await reading;
			// After forgetRealm the entry is gone: keys read before must not be kept.
			if (this.#loading.get(realm_id) === reading) this.#realms.set(realm_id, keys);
			return keys;
		} finally {
			if (this.#loading.get(realm_id) === reading) this.#loading.delete(realm_id);
		}
	}

	/** Reads the realm's active key; retired ones follow when a box needs them. */
	async #readRealm(realm_id: string): Promise<KeySet<DataKey>> {
		const rows = await this.#read(() => this.#needs.keys.ofRealm(realm_id));
		const row = rows.find((candidate) => candidate.state === "active");
		if (row === undefined) throw new AppError("internal_error", "the realm has no record key");
		const active = recordKey(row, this.#unwrap(row));
		return { active, byId: new Map([[row.id.toString("hex"), active]]) };
	}

	async #resolve(realm_id: string, id: Buffer): Promise<DataKey | undefined> {
		const keys = this.#inMemory(realm_id) ?? (await this.#load(realm_id));
		const known = find(keys, id);
		if (known !== undefined) return known;
		const [row] = await this.#read(async () => {
			const found = await this.#needs.keys.byId(id);
			return found === undefined ? [] : [found];
		});
		if (row === undefined || row.purpose !== "record" || row.realm_id !== realm_id) return undefined;
		const key = recordKey(row, this.#unwrap(row));
		keys.byId.set(id.toString("hex"), key);
		return key;
	}

	/** Reads rows, and again if the master key changed after the first reading, here or on another server. */
	async #read(query: () => Awaitable<KeyRow[]>): Promise<KeyRow[]> {
		const rows = await query();
		const masters = this.#masters();
		if (rows.every((row) => masters.some((master) => wraps(master, row)))) return rows;
		await this.#followMaster();
		return query();
	}

	/** Changes to the master key that another server has put in use. @throws AppError unhealthy when this server does not have it */
	async #followMaster(): Promise<void> {
		const { keys, findMaster } = this.#needs;
		const needed = await keys.fingerprint();
		const isKnown = this.#masters().some((master) => fingerprintOf(master) === needed);
		if (needed === undefined || findMaster === undefined || isKnown) return;
		const found = await findMaster(needed);
		if (found === undefined) throw noMaster(needed);
		this.#master = importMaster(found);
	}

	#unwrap(row: KeyRow): Buffer {
		return unwrapWith(this.#masters(), row);
	}

	#masters(): DataKey[] {
		return this.#incoming === undefined ? [this.#master] : [this.#master, this.#incoming];
	}
}

function noMaster(fingerprint: string): AppError {
	return new AppError(
		"unhealthy",
		`another server has replaced the master key, and this one does not have the new one, ${fingerprint}: provide it as the credential next-master-key or in next_master_key_file`,
	);
}

function find(keys: KeySet<DataKey>, id: Buffer): DataKey | undefined {
	// Nearly every box was made with the active key.
	return keys.active.id.equals(id) ? keys.active : keys.byId.get(id.toString("hex"));
}
