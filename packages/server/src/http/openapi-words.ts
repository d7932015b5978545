/** Description of each parameter, and an example where the page of the API should begin with one. */
const PARAMETERS: Readonly<Record<string, readonly [description: string, example?: string]>> = {
	slug: ["Slug of the realm", "shop"],
	realm: ["Slug of the realm", "shop"],
	key: ["Key of the secret", "DATABASE_URL"],
	id: ["Id, as in the list"],
	keys: ["key_set of an event, or one of its parts"],
	userID: ["Id of the user, as `svc whoami` shows it"],
	type: ["Type of the engine, as in the list of engines", "keyvalue"],
	provider: ["Name of the provider", "corp"],
	name: ["Name, as in the list"],
	trust: ["Name of the trust, as in the list", "github"],
	limit: ["Rows per page, from 1 to 100"],
	cursor: ["next_cursor of the previous page; absent for the first page"],
	include_total: ["Adds total, the number of all rows, to pagination"],
	env: ["Environment of the realm"],
	values: ["Includes the values; false decrypts nothing and answers when each secret ends"],
	purge: ["Removes it permanently, with everything deleted under its key there"],
	deleted: ["Lists those that were deleted and can be restored"],
	version: ["Version of the secret; by default the newest"],
	user: ["Id or e-mail of the user"],
	capability: ["Only this capability, such as secrets:write"],
	connection: ["Adds how to connect to the credential"],
	if: ["Tries it first: 409 and nothing is stored when it does not work"],
	engine: ["Only of this type of engine"],
	state: ["Only in this state; in a login callback, the state that the provider returns"],
	from: ["Environment to compare"],
	to: ["Environment to compare it with"],
	since: ["Only from this instant on, such as 2030-01-31T00:00:00Z"],
	until: ["Only before this instant"],
	actor: ["Only by this user or machine: id, e-mail, or its beginning up to the @, such as ada@; realm/name"],
	machine: ["Only by this machine: its id, or realm/name, such as shop/deploy"],
	session: ["Id of the session, as in the list"],
	token: ["Id of the API token, as in the list"],
	names: ["Adds the e-mail and name of each account, and each machine as realm/name"],
	deep: ["Reads the whole database and the whole log"],
	ready: ["Asks only whether the server takes requests, as a load balancer does"],
	seq: ["Number of a checkpoint that you stored elsewhere"],
	hash: ["Hash of that checkpoint"],
	cli_port: ["Loopback port on which a program waits for the browser"],
	cli_challenge: ["SHA-256 of that program's verifier, in base64url"],
	again: ["Whether the provider must sign the person in again, though it knows them"],
	code: ["Authorization code from the provider"],
	iss: ["Issuer, as named by the provider"],
	error: ["Error code from the provider"],
};

/** Query parameters whose meaning differs from that of the path parameter with the same name. */
const QUERY: Readonly<Record<string, string>> = {
	token: "Only what this API token caused, by its id",
	realm: "Only of this realm, by its slug",
	type: "Only of this type, such as secret.set; secret.* means all that begin with secret.",
	key: "Only of secrets with this key",
};

/** Example of each field of a body. */
const FIELDS: Readonly<Record<string, unknown>> = {
	...{ email: "ada@example.com", password: "correct horse battery", name: "Ada", username: "ada" },
	...{ current_password: "correct horse battery", new_password: "battery horse correct" },
	...{ factor_code: "123456" },
	...{
		slug: "shop",
		realm: "shop",
		description: "The shop",
		environment: "prod",
		comment: "from the provider's console",
	},
	...{ key: "DATABASE_URL", value: "postgres://shop:secret@db.internal/shop", scopes: "read", version: 1 },
	...{ expires_at: "2030-01-31T00:00:00Z", user_id: "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d" },
	...{
		id: "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d",
		engine: "keyvalue",
		engines: ["keyvalue:readonly"],
		reason: "the cluster is gone",
		ttl: "30d",
	},
};

/** Examples of bodies whose fields only an engine or a provider knows, by the end of the path. */
const BODIES: readonly (readonly [path: RegExp, example: object])[] = [
	[/\/generate$/, { role: "readonly", ttl: "30m" }],
	[/\/validate$/, { username: "svc_1a2b3c4d" }],
	[/\/engines\/\{type\}\/config$/, { address: "127.0.0.1:6379", password: "secret" }],
	[
		/\/auth\/providers\/\{name\}$/,
		{ type: "oidc", config: { issuer: "https://id.example.com", client_id: "svc", client_secret: "secret" } },
	],
];

/** Description and, in a path, example of a parameter; nothing for an unknown name. */
export function aboutParameter(name: string, location: "path" | "query"): object {
	const [description, example] = PARAMETERS[name] ?? [];
	if (location === "query") return { description: QUERY[name] ?? description };
	return { description, ...(example === undefined ? {} : { example }) };
}

/** The schema of a body with an example for each field that has one, or for the whole. */
export function withExamples(path: string, schema: { type?: string; properties?: Record<string, object> }): object {
	const whole = BODIES.find(([pattern]) => pattern.test(path))?.[1];
	if (whole !== undefined) return { ...schema, examples: [whole] };
	const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => [
		name,
		name in FIELDS ? { ...field, examples: [FIELDS[name]] } : field,
	]);
	return { ...schema, properties: Object.fromEntries(properties) };
}
