import type { Account, Session } from "../../accounts/model.ts";
import type { KeyRow } from "../../crypto/keyring-model.ts";
import type { EngineConfigRow } from "../../engines/model.ts";
import type { Factor, RecoveryCodes } from "../../factors/model.ts";
import type { Lease } from "../../leases/model.ts";
import type { Machine, MachineToken } from "../../machines/model.ts";
import type { Environment } from "../../messages.ts";
import type { Binding, Role } from "../../policy/model.ts";
import type { Realm } from "../../realms/model.ts";
import type { ResetCode } from "../../resets/model.ts";
import type { DeletedSecret, SecretVersion } from "../../secrets/model.ts";
import type { Identity, OneTime, ProviderRow } from "../../sso/model.ts";
import type { ApiToken } from "../../tokens/model.ts";
import type { Trust } from "../../trusts/model.ts";
import type { RowTable } from "../row-kinds.ts";

/** A version of a secret without the names that it is found by. */
type KeptVersion = Omit<SecretVersion, "realm_id" | "environment" | "key">;

/** Rows of the tables whose rows have MACs, as the database keeps them. */
export interface StoredRows extends Record<RowTable, object> {
	account: Account;
	account_limit: { user_id: string; realm_bytes: number | null; realms: number | null };
	session: Session;
	known_source: { pair: Buffer; user_id: string; seen_at: string };
	reset_code: ResetCode;
	factor: Factor;
	recovery_codes: RecoveryCodes;
	invitation: { id: string; email: string; digest: Buffer; created_by: string; created_at: string; expires_at: string };
	invitation_binding: { invitation_id: string; realm_id: string; role: Role };
	api_token: ApiToken;
	realm: Realm & { deleted_at: string | null; deleted_by: string | null; bytes: number; keys: number };
	binding: Binding;
	machine: Machine;
	machine_token: MachineToken;
	trust: Trust;
	engine_config: EngineConfigRow & { ordinal: number };
	engine_former_realm: { engine: string; realm_id: string };
	keyring: KeyRow;
	meta: { name: string; value: string };
	sso_provider: ProviderRow;
	sso_identity: Identity & { user_id: string };
	sso_used: OneTime;
	trust_used: OneTime & { realm_id: string };
	secret: {
		id: number;
		realm_id: string;
		environment: Environment;
		key: string;
		version: number;
		created_at: string;
		deleted_at: string | null;
	};
	secret_version: KeptVersion & { secret_id: number };
	deleted_secret: DeletedSecret & { created_at: string };
	deleted_version: KeptVersion & { deletion_id: string };
	lease: Lease;
}
