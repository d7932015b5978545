/** The resources of the specification as the tests read them. Spec: API › Resources and their fields. */
export interface User {
	readonly id: string;
	readonly email: string;
	readonly name: string;
	readonly created_at: string;
}

/** Spec: API › Accounts and login. */
export interface Login {
	readonly token: string;
	/** Unix seconds. */
	readonly expires_at: number;
	readonly user: Pick<User, "id" | "email" | "name">;
}

/** Spec: API › API tokens. `token` is in the answer to the creation alone. */
export interface ApiToken {
	readonly id: string;
	readonly name: string;
	readonly prefix: string;
	readonly scopes: string;
	readonly created_at: string;
	readonly token: string;
	readonly expires_at?: string | null;
}

/** Design: §15. `code` is in the answer to the creation alone. */
export interface Invitation {
	readonly id: string;
	readonly email: string;
	readonly bindings: readonly { readonly realm: string; readonly role: string }[];
	readonly created_by: string;
	readonly created_at: string;
	readonly expires_at: string;
	readonly code: string;
}

/** Design: §15. */
export interface Machine {
	readonly id: string;
	readonly name: string;
	readonly role: string;
	readonly scopes: string;
	readonly environment: string | null;
	readonly engines: readonly string[] | null;
	readonly description: string;
	readonly created_by: string;
	readonly created_at: string;
}

/** Design: §15. */
export interface MachineToken {
	readonly id: string;
	readonly name: string;
	readonly prefix: string;
	readonly created_by: string;
	readonly created_at: string;
	readonly expires_at: string;
	readonly last_used_at: string | null;
	readonly token: string;
}

/** Design: §15. Lists go without `jwks` and `ca_cert`. */
export interface Trust {
	readonly id: string;
	readonly name: string;
	readonly type: string;
	readonly issuer: string | null;
	readonly trust_domain: string | null;
	readonly audience: string;
	readonly claims: Readonly<Record<string, string | boolean | number>>;
	readonly max_ttl: string;
	readonly single_use: boolean;
	readonly keys_host: string | null;
	readonly created_by: string;
	readonly created_at: string;
	readonly jwks: { readonly keys: readonly object[] } | null;
	readonly ca_cert: string | null;
}

/** Spec: API › Realms. */
export interface Realm {
	readonly id: string;
	readonly slug: string;
	readonly name: string;
	readonly description: string;
	readonly user_id: string;
	readonly created_at: string;
}

/** Spec: API › Secrets and encryption. `value` is in reads, `created_at` in writes. */
export interface Secret {
	readonly key: string;
	readonly value: string;
	readonly environment: string;
	readonly version: number;
	readonly created_at: string;
	readonly updated_at: string;
}

/** Design: §7.1. */
export interface SecretVersion {
	readonly version: number;
	readonly created_at: string;
	readonly created_by: string;
	readonly comment: string;
	readonly expires_at: string | null;
}

/** Spec: API › Policy. */
export interface Binding {
	readonly id: string;
	readonly realm_id: string;
	readonly user_id: string;
	readonly role: string;
	readonly granted_by: string;
	readonly created_at: string;
}

/** Spec: API › Audit. `data` is JSON in a string. */
export interface AuditEvent {
	readonly id: string;
	readonly timestamp: string;
	readonly type: string;
	readonly actor: string;
	readonly realm: string;
	readonly data: string;
}

/** The fields of every paginated list other than its collection. Spec: API › Pagination convention. */
export interface Page {
	readonly pagination: { readonly next_cursor?: string; readonly has_more: boolean; readonly total?: number };
}

/** Spec: API › Error object. */
export interface ErrorBody {
	readonly error: { readonly code: string; readonly message: string; readonly status: number };
}
