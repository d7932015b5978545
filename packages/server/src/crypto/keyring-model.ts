import type { AuditEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { type Port, read, write } from "../operation.ts";
import { keyIdOf } from "./seal.ts";

/**
 * Purposes of the keyring's keys: a key is bound to its purpose and opens nothing else. Every instance has one active key of each.
 * Design: §5.
 */
export const KEY_PURPOSES = ["record", "portable", "session", "cursor", "checkpoint", "rows"] as const;

export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/** A stored key of the keyring, wrapped under the master key. Design: §5. */
export interface KeyRow {
	/** 8 random bytes; every ciphertext names the key that made it. */
	id: Buffer;
	purpose: KeyPurpose;
	/** Empty when the key belongs to no realm. */
	realm_id: string;
	/** Exactly one key per purpose and realm is active; retired ones open what they sealed, forever. One for rows goes when no row needs it. */
	state: "active" | "retired";
	/** 73 bytes, sealed under the master key: see wrap.ts. */
	wrapped: Buffer;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** Returns the fingerprint of the master key that a key names as the one that wraps it. */
export function masterOf({ wrapped }: Pick<KeyRow, "wrapped">): string | undefined {
	return keyIdOf(wrapped)?.toString("hex");
}

/** Error for a new key that is wrapped under a master key that another server has replaced meanwhile: nothing was changed. */
export class MasterKeyReplaced extends AppError {
	constructor() {
		super("conflict", "the master key was replaced meanwhile, nothing was changed: try again");
	}
}

/** Operations of the store on the keyring. Every write is one transaction with its event. */
export const keyOperations = {
	/** Fingerprint of the master key that wraps every row; undefined before `initialize`. */
	fingerprint: read<() => string | undefined>(),
	/** Keys that belong to no realm, active and retired. */
	shared: read<() => KeyRow[]>(),
	/** Record keys of one realm, active and retired. */
	ofRealm: read<(realm_id: string) => KeyRow[]>(),
	byId: read<(id: Buffer) => KeyRow | undefined>(),
	all: read<() => KeyRow[]>(),
	/** Fills a new store. Answers `exists` and changes nothing if it has a fingerprint, any key or any realm. */
	initialize: write<(input: { fingerprint: string; keys: KeyRow[] }, event: AuditEvent) => "done" | "exists">(),
	/**
	 * Adds this key and retires the active one of the same purpose and realm. Answers `unfinished` and changes nothing for a key for rows while a retired
	 * one is there.
	 * @throws MasterKeyReplaced
	 */
	rotate: write<(input: { key: KeyRow }, event: AuditEvent) => "done" | "unfinished">(),
	/**
	 * Authenticates some rows with the active key for rows that another one authenticated; a row that was altered stays so.
	 * @param position where to go on; empty at the beginning
	 * @returns the next position, which only the store reads; empty after the last row
	 */
	renewRows: write<(position: string) => string>({ forgets: [], events: 0 }),
	/** Destroys a retired key for rows. Answers `in_use` and changes nothing while the store counts a row of it. */
	destroyRowKey: write<(id: Buffer, event: AuditEvent) => "done" | "in_use">(),
	/**
	 * Replaces every wrapped key. Answers `changed` and writes nothing if the fingerprint is not `from` or the ids differ from the stored ones, and
	 * `unready` if another active server has not reported that it has the next master key.
	 */
	rewrap:
		write<
			(
				input: { from: string; to: string; keys: { id: Buffer; wrapped: Buffer }[] },
				event: AuditEvent,
			) => "done" | "changed" | "unready"
		>(),
};

/** The store's part for the keyring, as crypto needs it. */
export type KeyStore = Port<typeof keyOperations>;
