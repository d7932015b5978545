import type { Comparison } from "../audit/comparison.ts";
import type { AuditEvent, AuditStore } from "../audit/model.ts";
import type { KeyRow } from "../crypto/keyring-model.ts";
import type { RowKey } from "../crypto/row-macs.ts";
import type { EngineConfigRow } from "../engines/model.ts";
import type { Factor } from "../factors/model.ts";
import { read, write } from "../operation.ts";
import type { SecretVersion } from "../secrets/model.ts";
import type { ProviderRow } from "../sso/model.ts";

/** A backup's description: the last line of its file, after the database, as JSON. Design: §5 */
export interface Manifest {
	/** Version of the file format; an unknown one is refused. */
	format: 1;
	/** Its original file name. */
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
	/** Number of earlier restores of this instance. */
	restore_epoch: number;
	/** Length of the database. */
	bytes: number;
	/** SHA-256 of the database, hexadecimal. */
	sha256: string;
}

/** A backup in a list. */
export interface Backup extends Pick<Manifest, "name" | "created_at" | "fingerprint" | "events"> {
	/** Length of the file. */
	bytes: number;
	/** SHA-256 of the file, hexadecimal. */
	sha256: string;
}

/** Facts that describe a database. */
export interface SnapshotFacts {
	/** Newest migration; empty when there is none. */
	schema: string;
	/** Reason why this program cannot use the schema; empty when it can. */
	schema_problem: string;
	fingerprint: string | undefined;
	events: number;
	last_hash: Buffer;
	restore_epoch: number;
}

/** Sealed rows: if these open, the keys of the rest exist. */
export interface Samples {
	/** One of each realm. */
	secrets: SecretVersion[];
	engine_configs: EngineConfigRow[];
	lease_payloads: { id: string; payload: Buffer }[];
	sso_providers: ProviderRow[];
}

/** A row with what a person calls the realm that it is of: its slug, else its id. */
type OfRealm<Row> = Row & { realm: string };

/** Sealed rows by kind, each with its place among them. */
export interface SealedRows {
	values: OfRealm<SecretVersion> & { at: number };
	deleted_values: OfRealm<SecretVersion> & { at: number };
	configs: OfRealm<EngineConfigRow> & { at: number };
	payloads: { id: string; engine: string; payload: Buffer; at: number };
	factors: Factor & { at: number };
	providers: ProviderRow & { at: number };
	keys: KeyRow & { at: number };
}

export type SealedKind = keyof SealedRows;

/** Some sealed rows, and the place of the last one. */
export interface SealedPage<Kind extends SealedKind> {
	rows: SealedRows[Kind][];
	last: number;
}

/** Rows that an adoption would trust, with the names by which people know them. Another program may have written any of them. Design: §13 */
export interface AdoptionPreview {
	accounts: { total: number; disabled: number };
	admins: { email: string; name: string }[];
	realms: { realm: string; owner: string }[];
	bindings: { email: string; role: string; realm: string }[];
	tokens: {
		name: string;
		owner: string;
		scopes: string;
		realm: string | null;
		environment: string | null;
		engines: string | null;
		expires_at: string | null;
	}[];
	/** The active ones; the realm is empty for all realms. */
	configs: { engine: string; realm: string }[];
	providers: { name: string; type: string }[];
	identities: { provider: string; subject: string; email: string }[];
	/** Machines are named as `realm/name`. */
	machines: {
		machine: string;
		role: string;
		scopes: string;
		environment: string | null;
		engines: string | null;
		created_by: string;
	}[];
	/** Those that people made. */
	machine_tokens: { name: string; prefix: string; machine: string; created_by: string; expires_at: string }[];
	/** The issuer is the trust domain where there is none. */
	trusts: { name: string; machine: string; issuer: string; claims: string; created_by: string }[];
	/** Open or not: the clock may be wrong. */
	invitations: { email: string; created_by: string; expires_at: string; roles: number }[];
}

/** Alterations of a database by another program, by their consequence. Design: §13 */
export interface IntegrityReport {
	/** Nothing in the database grants anything any more. */
	access: string[];
	/** Altered rows are refused; everything else works. */
	content: string[];
}

/** A copy of a store, as a backup's file has it: an SQLite database. Queries may take long; another thread runs them. */
export interface Snapshot {
	audit: Pick<AuditStore, "checkpoints" | "verify">;
	facts(): Promise<SnapshotFacts>;
	/** Lists problems of its pages. */
	checkQuickly(): Promise<string[]>;
	/** Lists problems of its pages, indexes and references. */
	inspect(): Promise<string[]>;
	keys(): Promise<KeyRow[]>;
	/** Rows that grant something, by name. */
	adoptionPreview(): Promise<AdoptionPreview>;
	/** Compares what the rows grant with what the log granted. @param keys of its rows; none for a copy from before they authenticated themselves */
	compare(keys: RowKey[]): Promise<Comparison>;
	/** Compares its rows, log and schema with what the last transaction left. @param keys of its rows */
	checkIntegrity(keys: RowKey[]): Promise<IntegrityReport>;
	samples(): Promise<Samples>;
	/** Reads sealed rows of a kind behind a place, about a MiB of them; none when there are no more. */
	sealed<Kind extends SealedKind>(kind: Kind, after: number): Promise<SealedPage<Kind>>;
	close(): Promise<void>;
}

/** A source of backups: each adapter of the store copies in its own way. */
export interface BackupSource {
	/**
	 * Copies all that the store holds at this instant into an empty file, as an SQLite database, while writes go on.
	 * @throws Error whose `code` says why: ENOSPC when the file's disk is full
	 */
	copyTo(file: string): Promise<void>;
}

/** A restore that the restored database's audit log does not contain yet. */
export interface Restore {
	/** The backup's name. */
	name: string;
	/** Time of the restore, ISO 8601 UTC. */
	restored_at: string;
	/** Number of restores of this instance, this one included. */
	epoch: number;
	/** Events in the restored log. */
	events: number;
}

/** Operations of the store on restores. */
export const backupOperations = {
	/** Finds the restore that is not in the log yet. */
	restored: read<() => Restore | undefined>(),
	/**
	 * Names the time for which the store knows what was used up: what was made in another era is void. An embedded store begins one with each start, one
	 * that servers share with each restore.
	 */
	era: read<() => string>(),
	/** Writes the restore to the log, once. */
	noteRestored: write<(event: AuditEvent) => boolean>(),
};
