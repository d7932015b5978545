import type { Difference, StrangeEvent } from "../audit/comparison.ts";
import type { ChainReport } from "../audit/model.ts";
import type { AdoptionPreview, BackupSource } from "../backups/model.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import type { Store } from "../store/store.ts";

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

/** Copies a database into an empty file. */
export type CopyTo = BackupSource["copyTo"];

/** A copy of a database as it was found, and the master key that opens it. */
export interface Inspected extends Pick<MasterKey, "key"> {
	found: Adoptable;
}

/** Options of an adoption, made on the server's machine while no server runs. */
export interface AdoptionOptions {
	/** Allows a database that was adopted before, or that the server never had to adopt. */
	again: boolean;
	/** Asks for confirmation before anything changes. */
	confirm(found: Adoptable): Promise<boolean>;
	/** Receives the process of a server that refuses every request, before that is ended. With `again`, on SQLite. */
	onEnding?(pid: number): void;
}

/** A store that no server uses. */
export interface OfflineStore {
	store: Store;
	/** Its file, or the address of its database without the password. */
	place: string;
}
