/** The limits of an API token; `own` is the realm, the environment or the role that the request concerns. `backups` is the purpose of a token. */
export const LIMITS = [
	"its realm",
	"another realm",
	"its environment",
	"another environment",
	"its environment, which the request leaves out",
	"another environment, where the request leaves it out",
	"its environment in another realm",
	"its role of the engine",
	"a role of another engine",
	"its role of the engine in another realm",
	"its environment and its role of the engine",
	"backups",
] as const;

/** One of these limits. */
export type Limit = (typeof LIMITS)[number];

/** `ok` as without limits, `scope` 403 insufficient_scope, `hidden` 404 not_found, `admins` 403 forbidden. */
export type Outcome = "ok" | "scope" | "hidden" | "admins";

/** The reach of a limited token on a kind of route: closed except for the limits named. Design: §13 */
const closed = <Opened extends Partial<Record<Limit, Outcome>>>(opened: Opened): Readonly<Record<Limit, Outcome>> => ({
	"its realm": "scope",
	"another realm": "scope",
	"its environment": "scope",
	"another environment": "scope",
	"its environment, which the request leaves out": "scope",
	"another environment, where the request leaves it out": "scope",
	"its environment in another realm": "scope",
	"its role of the engine": "scope",
	"a role of another engine": "scope",
	"its role of the engine in another realm": "scope",
	"its environment and its role of the engine": "scope",
	backups: "scope",
	...opened,
});

/** Routes in a realm, which is hidden from tokens of another one. */
const IN_REALM = {
	"its realm": "ok",
	"another realm": "hidden",
	"its environment in another realm": "hidden",
	"its role of the engine in another realm": "hidden",
} as const;

const IN_ENVIRONMENT = {
	"its environment": "ok",
	"its environment, which the request leaves out": "ok",
	"its environment and its role of the engine": "ok",
} as const;

const EVERYWHERE = Object.fromEntries(LIMITS.map((limit) => [limit, "ok"] as const)) as Record<Limit, "ok">;

/** The same for every limit, except that a token for backups reaches nothing else. */
const NOT_FOR_BACKUPS = { ...EVERYWHERE, backups: "scope" } as const;

/** Kinds of routes, by the reach of their limited callers. */
export const KINDS = {
	/** Ignores tokens. */
	public: EVERYWHERE,
	/** For signed-in people. */
	session: NOT_FOR_BACKUPS,
	/** A token's actions on itself and on the tokens it made. */
	self: NOT_FOR_BACKUPS,
	/** Manages the instance, or makes something that is not yet part of a realm. */
	instance: closed({}),
	/** Makes, lists and downloads backups. */
	backups: closed({ backups: "ok" }),
	/** Another token of the same owner. */
	"others of its owner": closed({}),
	/** The same for everybody, or the part of it that belongs to the token's realm. */
	anywhere: closed({ "its realm": "ok", "another realm": "ok" }),
	realm: closed(IN_REALM),
	/** For admins only; hides from all others whether the realm exists. */
	"admins of a realm": closed({
		"its realm": "ok",
		"another realm": "admins",
		"its environment in another realm": "admins",
		"its role of the engine in another realm": "admins",
	}),
	environment: closed({ ...IN_REALM, ...IN_ENVIRONMENT }),
	/** Without a named environment, uses the token's. */
	"list of an environment": closed({
		...IN_REALM,
		...IN_ENVIRONMENT,
		"another environment, where the request leaves it out": "ok",
	}),
	engine: closed({ ...IN_REALM, "its role of the engine": "ok", "its environment and its role of the engine": "ok" }),
	encrypt: {
		...NOT_FOR_BACKUPS,
		"its role of the engine": "scope",
		"a role of another engine": "scope",
		"its role of the engine in another realm": "scope",
	},
} as const satisfies Readonly<Record<string, Readonly<Record<Limit, Outcome>>>>;
