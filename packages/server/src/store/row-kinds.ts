/** The keyed sum of the tip that counts a row: `access` shows a row that was put back or taken away before anybody is answered, `content` later. */
export type RowSum = "access" | "content";

/** A kind of row that authenticates itself. Design: §13 */
export interface RowKind {
	/** Columns that find it. They are covered, too. */
	key: readonly string[];
	/** Columns that its MAC covers, in addition to the key: all that it grants, or hides. */
	covered: readonly string[];
	/** Covered columns whose values are bytes. */
	bytes?: readonly string[];
	/** Columns that its MAC does not cover, each with the reason why it grants nothing. */
	free: Readonly<Record<string, string>>;
	sum: RowSum;
	/**
	 * Effect of a wrong MAC on verified reads: the row is `absent` and grants nothing; or the question is `refused`, because an absence would be an
	 * answer, too. `unread` ones are compared by the integrity check alone.
	 */
	altered: "absent" | "refused" | "unread";
	/** Column with the UUIDv7 of a content row. The tip keeps the newest one, so a row that is newer than an old tip shows. */
	dated?: string;
	/** Columns that name it in the audit log, when they are not its key. */
	named_by?: readonly string[];
	/** Reason why no event names it; every change of other rows is named in the event that made it. */
	unnamed?: string;
}

const SHOWN = "shown to people, decides nothing";
const LABELLED = "shown to people, who revoke by it: the log has a digest of it, which its verification compares";
const SEALED = "a box that opens in this row alone";
const IN_BOX = "people see that of the box once the passkey is confirmed";
const VALUES = "it grants nobody access, and the sums of the tip show what was put back";
const NEXT_LOOK =
	"it says when to look again; the id says since when, and what is absent before that is looked for again";
const OF_BLOCKS = "made of events, which the chain covers; a doctor who reads everything makes it again and compares";
const COUNTED = "a count that bounds what is stored, and grants nothing; the integrity check counts again";

/**
 * Every kind of row that grants something, delays a revocation, or says which value is current, by table. The writer's triggers, the reads' views, the
 * tip's sums and the test that walks the schema derive from it.
 */
export const ROW_KINDS = {
	account: {
		key: ["id"],
		covered: ["email", "password", "instance_admin", "disabled_at"],
		free: { name: SHOWN, created_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	account_limit: { key: ["user_id"], covered: ["realm_bytes", "realms"], free: {}, sum: "access", altered: "absent" },
	session: {
		key: ["jti"],
		covered: ["user_id", "created_at", "expires_at", "provider"],
		free: {},
		sum: "access",
		altered: "absent",
	},
	known_source: {
		key: ["pair"],
		covered: ["user_id", "seen_at"],
		bytes: ["pair"],
		free: {},
		sum: "access",
		altered: "absent",
		unnamed: "it decides whose turn comes first, not who may sign in",
	},
	reset_code: {
		key: ["user_id"],
		covered: ["digest", "created_by", "created_at", "expires_at"],
		bytes: ["digest"],
		free: {},
		sum: "access",
		altered: "absent",
	},
	factor: {
		key: ["id"],
		covered: ["user_id", "type", "last_step", "created_at", "confirmed_at"],
		free: {
			name: IN_BOX,
			rp_id: `${IN_BOX}; what a passkey signs names the host, and that is compared`,
			sealed: SEALED,
		},
		sum: "access",
		// Without it the password alone would open a session.
		altered: "refused",
	},
	recovery_codes: {
		key: ["user_id"],
		covered: ["digests", "created_at"],
		bytes: ["digests"],
		free: {},
		sum: "access",
		altered: "absent",
	},
	invitation: {
		key: ["id"],
		covered: ["email", "digest", "created_by", "expires_at"],
		bytes: ["digest"],
		free: { created_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	invitation_binding: {
		key: ["invitation_id", "realm_id"],
		covered: ["role"],
		free: {},
		sum: "access",
		altered: "absent",
	},
	api_token: {
		key: ["id"],
		covered: ["user_id", "digest", "scopes", "realm_id", "environment", "expires_at", "engines", "maker_id"],
		bytes: ["digest"],
		free: { name: LABELLED, prefix: LABELLED, last_used_at: SHOWN, created_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	realm: {
		key: ["id"],
		covered: ["slug", "user_id", "deleted_at"],
		free: { name: SHOWN, description: SHOWN, created_at: SHOWN, bytes: COUNTED, keys: COUNTED, deleted_by: SHOWN },
		sum: "access",
		altered: "refused",
	},
	binding: {
		key: ["id"],
		covered: ["realm_id", "user_id", "role", "granted_by"],
		free: { created_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	machine: {
		key: ["id"],
		covered: ["realm_id", "name", "role", "scopes", "environment", "engines", "created_by", "created_at"],
		free: { description: SHOWN },
		sum: "access",
		altered: "absent",
	},
	machine_token: {
		key: ["id"],
		covered: ["machine_id", "digest", "trust_id", "created_by", "created_at", "expires_at"],
		bytes: ["digest"],
		free: { name: LABELLED, prefix: LABELLED, last_used_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	trust: {
		key: ["id"],
		covered: [
			...["machine_id", "name", "type", "issuer", "trust_domain", "audience", "claims", "max_ttl_ms", "single_use"],
			...["jwks", "ca_cert", "keys_host", "created_by", "created_at"],
		],
		free: {},
		sum: "access",
		altered: "absent",
	},
	trust_used: {
		key: ["digest"],
		covered: ["realm_id", "until"],
		bytes: ["digest"],
		free: {},
		sum: "access",
		altered: "unread",
		unnamed: "it grants by being absent, and goes within two days",
	},
	engine_config: {
		key: ["id"],
		covered: ["engine", "realm_id", "state", "ordinal"],
		free: { sealed: SEALED, created_by: SHOWN, created_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	engine_former_realm: { key: ["engine", "realm_id"], covered: [], free: {}, sum: "access", altered: "absent" },
	sso_provider: {
		key: ["name"],
		covered: ["id", "type"],
		free: { display_name: SHOWN, sealed: SEALED, created_by: SHOWN, created_at: SHOWN },
		sum: "access",
		altered: "absent",
	},
	sso_identity: {
		key: ["provider", "issuer", "subject"],
		covered: ["id", "user_id", "is_vouched", "made_account", "created_at"],
		free: {},
		sum: "access",
		altered: "absent",
		named_by: ["id"],
	},
	sso_used: {
		key: ["digest"],
		covered: ["until"],
		bytes: ["digest"],
		free: {},
		sum: "access",
		altered: "unread",
		unnamed: "it grants by being absent, and goes within a day",
	},
	keyring: {
		key: ["id"],
		covered: ["purpose", "realm_id", "state", "created_at"],
		bytes: ["id"],
		free: { wrapped: SEALED },
		sum: "access",
		altered: "unread",
	},
	meta: { key: ["name"], covered: ["value"], free: {}, sum: "access", altered: "absent", unnamed: VALUES },
	secret: {
		key: ["id"],
		covered: ["realm_id", "environment", "key", "version", "deleted_at"],
		free: { created_at: SHOWN },
		sum: "content",
		altered: "refused",
		unnamed: VALUES,
	},
	secret_version: {
		key: ["secret_id", "version"],
		covered: ["id", "pre_encrypted", "expires_at"],
		free: { value: SEALED, created_by: SHOWN, created_at: SHOWN, comment: SHOWN },
		sum: "content",
		altered: "refused",
		dated: "id",
		unnamed: VALUES,
	},
	deleted_secret: {
		key: ["id"],
		covered: ["realm_id", "environment", "key", "version", "deleted_at"],
		free: { created_at: SHOWN, deleted_by: SHOWN },
		sum: "access",
		altered: "refused",
	},
	deleted_version: {
		key: ["deletion_id", "version"],
		covered: ["id", "pre_encrypted", "expires_at"],
		free: { value: SEALED, created_by: SHOWN, created_at: SHOWN, comment: SHOWN },
		sum: "content",
		altered: "refused",
		unnamed: VALUES,
	},
	lease: {
		key: ["id"],
		covered: [
			...["engine", "target", "name", "scope", "realm_id", "config_id", "config_realm_id", "role", "user_id"],
			...["state", "due_at", "expires_at", "fence", "reason", "closed_at"],
		],
		free: {
			realm: SHOWN,
			attempts: NEXT_LOOK,
			last_error: NEXT_LOOK,
			payload: `${SEALED}; a credential whose engine needs it is not settled without`,
			created_at: SHOWN,
			delivered_at: SHOWN,
		},
		sum: "content",
		altered: "unread",
		dated: "id",
		unnamed: VALUES,
	},
} as const satisfies Record<string, RowKind>;

export type RowTable = keyof typeof ROW_KINDS;

/** Tables whose rows have no MAC, each with the reason. */
export const OTHER_TABLES: Readonly<Record<string, string>> = {
	audit_event: "the tip has the end of their chain",
	audit_block: OF_BLOCKS,
	audit_posting: OF_BLOCKS,
	audit_checkpoint: "each is signed",
	audit_key: "part of what the next two name",
	audit_key_part: "named by the hash of its content, which sets name",
	audit_key_in_part: "the content of a part",
	audit_key_set: "named by the hash of its parts, which the chain of events covers; verifying the log compares them",
	audit_part_in_set: "the content of a set",
	lease_count: COUNTED,
	migration: "compared with the program's own",
	tip: "a box of its own",
};

/** Tables in which SQLite finds events. No other store has them, and no copy needs them. */
const BLOCKS: readonly string[] = ["audit_block", "audit_posting"];

/** Tables of the log, in every store. */
export const LOG_TABLES: readonly string[] = Object.keys(OTHER_TABLES).filter(
	(table) => table.startsWith("audit_") && !BLOCKS.includes(table),
);

/** All columns of a table's rows but the MAC. */
export function columnsOf(table: RowTable): readonly string[] {
	return [...coveredColumns(table), ...Object.keys(ROW_KINDS[table].free)];
}

/** Columns that the MAC of a table's rows covers, in the order in which it covers them. */
export function coveredColumns(table: RowTable): readonly string[] {
	const { key, covered }: RowKind = ROW_KINDS[table];
	return [...key, ...covered];
}
