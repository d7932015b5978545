/** The nouns of the API, in the order in which a reader meets them. */
const TAGS: Readonly<Record<string, string>> = {
	accounts: "Registration, login, logout and your password; for the instance admin: all accounts.",
	sso: "Signing in at an identity provider or a directory, and the providers themselves.",
	tokens: "API tokens for programs, with the restrictions that they were made with.",
	realms: "Realms: what secrets, roles and leases belong to.",
	secrets: "Secrets of a realm, per environment, with their versions.",
	encrypt: "Encryption of a value with the key of a realm, for values that are kept elsewhere.",
	policy: "Roles, and who has which one in a realm.",
	machines:
		"Machine accounts of a realm, their tokens, and the issuers whose JWTs they trust: for programs, independent of any person.",
	engines: "Engines, which make credentials that expire, and their configurations.",
	leases: "Leases: the credentials that engines have made, until they are gone.",
	eso: "Endpoints for a cluster's secret operator.",
	audit: "What happened: the audit log, and whether it is intact.",
	backups: "Backups: verified copies of everything but the master key.",
	keys: "For the instance admin: which keys there are, and how they are replaced.",
	server: "The server itself: health, the checks of the doctor, metrics, nodes, this reference.",
};

/** Paths whose first word is not the noun. */
const NOUN_OF: Readonly<Record<string, string>> = {
	...{ users: "accounts", revoke: "accounts", invitations: "accounts", "openapi.json": "server" },
	...{ health: "server", metrics: "server", doctor: "server", nodes: "server" },
	...{ diff: "secrets", promote: "secrets", restore: "realms", leave: "policy" },
	...{ "auth/tokens": "tokens", "auth/jwt": "machines", "auth/register": "accounts", "auth/login": "accounts" },
	...{
		"auth/whoami": "accounts",
		"auth/logout": "accounts",
		"auth/password": "accounts",
		"auth/sessions": "accounts",
		"auth/reset": "accounts",
		"auth/factors": "accounts",
		"auth/recovery-codes": "accounts",
		auth: "sso",
	},
};

/** Noun that a path is about: `secrets` for `/api/v1/realms/{slug}/secrets/{key}`. */
export function tagOf(path: string): string {
	const [first = "", second = ""] = path
		.replace(/^\/(api\/v1\/)?/, "")
		.split("/")
		.filter((word) => !word.startsWith("{"));
	if (first === "realms" && second !== "") return NOUN_OF[second] ?? second;
	return NOUN_OF[`${first}/${second}`] ?? NOUN_OF[first] ?? first;
}

/** The nouns that occur, with their descriptions. */
export function tagsOf(paths: readonly string[]): object[] {
	const used = new Set(paths.map(tagOf));
	const known = Object.keys(TAGS).filter((name) => used.has(name));
	return [...new Set([...known, ...used])].map((name) => ({ name, description: TAGS[name] }));
}
