import type { AuditEvent, AuditStore } from "../audit/model.ts";
import type { KeyRow } from "../crypto/keyring-model.ts";
import type { EngineConfigRow } from "../engines/model.ts";
import { type Port, read, scan, write } from "../operation.ts";
import type { SecretVersion } from "../secrets/model.ts";
import type { ProviderRow } from "../sso/model.ts";

/** What a backup says of itself: the last line of its file, behind the database, as JSON. Design: §5 */
export interface Manifest {
	/** Of this form of file; one that is not known is refused. */
	format: 1;
	/** File name that it was made under. */
	name: string;
	/** ISO 8601 UTC. */
	created_at: string;
	/** Version of the server that made it. */
	svc: string;
	/** Newest migration of the database. */
	schema: string;
	/** Fingerprint of the master key that opens it. */
	fingerprint: string;
	/** Events in its audit log. */
	events: number;
	/** Hash of the newest of them, hexadecimal. */
	last_hash: string;
	/** How often this instance was restored before. */
	restore_epoch: number;
	/** Length of the database. */
	bytes: number;
	/** SHA-256 of the database, hexadecimal. */
	sha256: string;
}

/** A backup as it is listed. */
export interface Backup extends Pick<Manifest, "name" | "created_at" | "fingerprint" | "events"> {
	/** Length of the file. */
	bytes: number;
	/** SHA-256 of the file, hexadecimal. */
	sha256: string;
}

/** What is read of a database to describe it. */
export interface SnapshotFacts {
	/** Newest migration; empty when there is none. */
	schema: string;
	/** Why this program cannot use the schema; empty when it can. */
	schema_problem: string;
	fingerprint: string | undefined;
	events: number;
	last_hash: Buffer;
	restore_epoch: number;
}

/** Sealed rows: if these open, the keys of the rest are there. */
export interface Samples {
	/** One of each realm. */
	secrets: SecretVersion[];
	engine_configs: EngineConfigRow[];
	lease_payloads: { id: string; payload: Buffer }[];
	sso_providers: ProviderRow[];
}

/** A database file. Its questions may take long; they are asked of another thread. */
export interface Snapshot {
	audit: Pick<AuditStore, "checkpoints" | "verify">;
	facts(): Promise<SnapshotFacts>;
	/** What is wrong with its pages; empty when nothing is. */
	glance(): Promise<string[]>;
	/** What is wrong with its pages, indexes and references; empty when nothing is. */
	inspect(): Promise<string[]>;
	keys(): Promise<KeyRow[]>;
	samples(): Promise<Samples>;
	close(): Promise<void>;
}

/** A restore that the audit log of the restored database does not tell of yet. */
export interface Restore {
	/** The backup's name. */
	name: string;
	/** When it was restored, ISO 8601 UTC. */
	restored_at: string;
	/** How often this instance was restored, this time included. */
	epoch: number;
	/** Events in the log that it came with. */
	events: number;
}

/** Operations of the store on backups. */
export const backupOperations = {
	/**
	 * Copies the database as it is at this instant into an empty file, while it goes on being written.
	 * @throws Error whose `code` says why, such as SQLITE_FULL or ENOSPC
	 */
	copyTo: scan<(file: string) => void>(),
	/** The restore that is to be written to the log. */
	restored: read<() => Restore | undefined>(),
	/** Writes it to the log, once. */
	noteRestored: write<(event: AuditEvent) => boolean>(),
};

/** The store's part for backups. */
export type BackupStore = Port<typeof backupOperations>;
