/** Rows that grant access and that the log can confirm. */
export interface GrantingRows {
	accounts: { id: string; instance_admin: number; disabled_at: string | null }[];
	realms: { id: string; user_id: string; deleted_at: string | null }[];
	bindings: { realm_id: string; user_id: string; role: string }[];
	tokens: {
		id: string;
		user_id: string;
		name: string;
		prefix: string;
		scopes: string;
		realm_id: string | null;
		environment: string | null;
		engines: string | null;
		expires_at: string | null;
	}[];
	/** The active configurations. */
	configs: { id: string; engine: string; realm_id: string }[];
	providers: { name: string; id: string }[];
	identities: { id: string; user_id: string }[];
}
