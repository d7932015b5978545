import type { AccountStore } from "../accounts/model.ts";
import type { AuditStore } from "../audit/model.ts";
import type { BackupStore } from "../backups/model.ts";
import type { EngineStore } from "../engines/model.ts";
import type { ListedKeyStore } from "../keys/model.ts";
import type { LeaseStore } from "../leases/model.ts";
import type { PolicyStore } from "../policy/model.ts";
import type { RealmStore } from "../realms/model.ts";
import type { RevocationStore } from "../revocation/model.ts";
import type { SecretStore } from "../secrets/model.ts";
import type { SsoStore } from "../sso/model.ts";
import type { TokenStore } from "../tokens/model.ts";

/**
 * What the server asks of its storage: the nouns' own ports, side by side. Every question and every change is asynchronous, and a
 * change is a named operation that is decided, applied and audited in one transaction. Design: §4.
 */
export interface Store {
	accounts: AccountStore;
	audit: AuditStore;
	backups: BackupStore;
	engines: EngineStore;
	keys: ListedKeyStore;
	leases: LeaseStore;
	policy: PolicyStore;
	realms: RealmStore;
	revocations: RevocationStore;
	secrets: SecretStore;
	sso: SsoStore;
	tokens: TokenStore;
	/** Whether a write succeeds now, and has room for more after it: at most one attempt a second while it does not. */
	isWritable(now: Date): Promise<boolean>;
	/** How many events one account or source caused in the last second while the disk was low, at most, and how many were refused. */
	eventsOnLowDisk(): { most: number; refused: number };
	/** Finishes what was handed over and lets go of the files. */
	close(): Promise<void>;
}
