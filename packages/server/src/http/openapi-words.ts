/** Description of each parameter, and an example where the page of the API should begin with one. */
const PARAMETERS: Readonly<Record<string, readonly [description: string, example?: string]>> = {
	slug: ["Slug of the realm", "shop"],
	realm: ["Slug of the realm", "shop"],
	key: ["Key of the secret", "DATABASE_URL"],
	id: ["Id, as the list answers it"],
	userID: ["Id of the user, as `svc whoami` shows it"],
	type: ["Type of the engine, as the list of engines answers it", "keyvalue"],
	provider: ["Name of the provider", "corp"],
	name: ["Its name"],
	limit: ["Rows of a page, from 1 to 100"],
	cursor: ["next_cursor of the page before; absent for the first page"],
	include_total: ["Whether pagination holds total, the number of all rows"],
	env: ["Environment of the realm"],
	values: ["Whether the answer holds the values; without them nothing is opened"],
	version: ["An earlier version; without it the newest"],
	user: ["Id or e-mail of the user"],
	capability: ["Capability that is asked about"],
	connection: ["Whether the answer holds how to connect, beside the credential"],
	engine: ["Of this type of engine only"],
	state: ["In this state only; in a login, what the provider was given"],
	from: ["Environment that is compared"],
	to: ["Environment that it is compared with"],
	since: ["From this instant on, such as 2030-01-31T00:00:00Z"],
	until: ["Before this instant"],
	actor: ["By this user only: id or e-mail"],
	deep: ["Whether the whole database and the whole log are read"],
	seq: ["Number of a checkpoint that was kept elsewhere"],
	hash: ["Hash of that checkpoint"],
	cli_port: ["Port on loopback at which a program waits for the browser"],
	cli_challenge: ["SHA-256 of that program's verifier, in base64url"],
	code: ["What the provider sends"],
	iss: ["Issuer that the provider names"],
	error: ["Why the provider refused"],
};

/** Query parameters whose meaning differs from that of the path parameter with the same name. */
const QUERY: Readonly<Record<string, string>> = {
	realm: "Of this realm only, by its slug",
	type: "Of this type only, such as secret.set",
};

/** Example of each field of a body. */
const FIELDS: Readonly<Record<string, unknown>> = {
	...{ email: "ada@example.com", password: "correct horse battery", name: "Ada", username: "ada" },
	...{ current_password: "correct horse battery", new_password: "battery horse correct" },
	...{
		slug: "shop",
		realm: "shop",
		description: "The shop",
		environment: "prod",
		comment: "from the provider's console",
	},
	...{ key: "DATABASE_URL", value: "postgres://shop:secret@db.internal/shop", scopes: "read", version: 1 },
	...{ expires_at: "2030-01-31T00:00:00Z", user_id: "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d" },
	...{ engine: "keyvalue", engines: ["keyvalue:readonly"], reason: "the cluster is gone" },
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
export function aboutParameter(name: string, place: "path" | "query"): object {
	const [description, example] = PARAMETERS[name] ?? [];
	if (place === "query") return { description: QUERY[name] ?? description };
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
