import type { Api } from "../harness/client.ts";
import { PASSWORD, type Person, person, realm, secret, unique } from "../harness/fixtures.ts";

/** A route that takes a JSON body, with a body that it accepts. */
export interface JsonRoute {
	/** Path below `/api/v1`. */
	readonly path: string;
	readonly token: string;
	/** Returns every field, even optional ones; new for each request, because slugs and e-mails must be unique. */
	readonly valid: () => Record<string, unknown>;
	/** Fields that the body must have. */
	readonly required: readonly string[];
	/** Tells whether an accepted body costs a password hash, which slows down a long table of bodies. */
	readonly costly: boolean;
}

/** Somebody with a realm, and routes that take a body, whose fields are of every kind. */
export interface JsonRoutes {
	readonly owner: Person;
	readonly slug: string;
	readonly routes: readonly JsonRoute[];
}

/** Prepares the routes on a fresh server. The owner is not the instance admin. */
export async function jsonRoutes(api: Api): Promise<JsonRoutes> {
	const other = await person(api, "other");
	const owner = await person(api, "owner");
	const { slug } = await realm(api, owner);
	await secret(api, owner, slug, "EXISTING", "a value");
	const route = (path: string, required: string[], valid: () => Record<string, unknown>): JsonRoute => ({
		path,
		token: owner.token,
		required,
		valid,
		costly: required.some((field) => field.endsWith("password")),
	});
	const expires_at = "2099-01-01T00:00:00Z";
	const environment = "dev";
	return {
		owner,
		slug,
		routes: [
			route("/auth/register", ["email", "password"], () => ({
				email: `${unique("made")}@example.test`,
				password: PASSWORD,
				name: "Made",
			})),
			route("/auth/login", ["email", "password"], () => ({ email: owner.email, password: PASSWORD })),
			route("/auth/password", ["current_password", "new_password"], () => ({
				current_password: PASSWORD,
				new_password: PASSWORD,
			})),
			route("/auth/tokens", ["name"], () => ({ name: "made", scopes: "read", realm: slug, environment, expires_at })),
			route("/realms", ["slug", "name"], () => ({ slug: unique("made"), name: "Made", description: "What for" })),
			route(`/realms/${slug}/secrets`, ["key", "value"], () => ({
				...{ key: unique("KEY"), value: "a value", environment, comment: "Why", expires_at, pre_encrypted: false },
			})),
			route(`/realms/${slug}/secrets/EXISTING/rollback`, ["version"], () => ({ version: 1 })),
			route(`/realms/${slug}/promote`, ["from", "to", "secrets"], () => ({
				...{ from: "dev", to: "prod", secrets: [{ key: "EXISTING" }] },
			})),
			route("/encrypt", ["value"], () => ({ value: "a value" })),
			route(`/realms/${slug}/policy/bindings`, ["user_id", "role"], () => ({ user_id: other.id, role: "viewer" })),
		],
	};
}
