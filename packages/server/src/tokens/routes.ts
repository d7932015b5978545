import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Environment, Instant, Uuid } from "../messages.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import type { QuestionNeeds } from "../semaphore.ts";
import { type ApiToken, CreateToken, FOR_BACKUPS } from "./model.ts";
import {
	createToken,
	listTokens,
	listTokensOf,
	revokeToken,
	revokeTokenOf,
	type TokenNeedsOfAdmins,
} from "./tokens.ts";

const TokenSchema = v.object({
	id: Uuid,
	name: v.string(),
	prefix: v.string(),
	scopes: v.string(),
	created_at: Instant,
	realm_id: v.nullable(Uuid),
	environment: v.nullable(Environment),
	expires_at: v.nullable(Instant),
	last_used_at: v.nullable(Instant),
	engines: v.optional(v.array(v.string())),
	purpose: v.optional(v.literal(FOR_BACKUPS)),
});

/** Spec: API › API tokens. The other fields are ours: restrictions, purpose, and when it was last used. */
function shown(token: ApiToken) {
	const { id, name, prefix, created_at, realm_id, environment, expires_at, last_used_at } = token;
	const reach = token.scopes === FOR_BACKUPS ? { scopes: "", purpose: FOR_BACKUPS } : { scopes: token.scopes };
	const engines = token.engines === null ? {} : { engines: JSON.parse(token.engines) as string[] };
	return { id, name, prefix, ...reach, created_at, realm_id, environment, expires_at, last_used_at, ...engines };
}

/** Spec: API › API tokens. */
export function tokenRoutes(needs: TokenNeedsOfAdmins & QuestionNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/auth/tokens",
			summary: "Create an API token",
			body: CreateToken,
			status: 201,
			answer: v.object({ token: v.string(), ...TokenSchema.entries }),
			errors: ["invalid_scope", "invalid_environment", "not_found", "unsupported_operation", "limit_reached"],
			async handle({ actor, body }) {
				const token = await createToken(needs, actor, body);
				return { token: token.token, ...shown(token) };
			},
		}),
		route({
			method: "GET",
			path: "/api/v1/auth/tokens",
			summary: "The caller's API tokens",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ tokens: v.array(TokenSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "rate_limited"],
			async handle({ actor, query }) {
				const { rows, pagination } = await listTokens(needs, actor, query);
				return { tokens: rows.map(shown), pagination };
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/auth/tokens/{id}",
			summary: "Revoke an API token",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await revokeToken(needs, actor, params.id);
				return { message: "token revoked" };
			},
		}),
		...tokensOfRoutes(needs),
	];
}

/** Makes the routes of somebody else's tokens. Design: §7.1 */
function tokensOfRoutes(needs: TokenNeedsOfAdmins): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/users/{id}/tokens",
			summary: "Somebody's API tokens, without their values",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ tokens: v.array(TokenSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "not_found"],
			async handle({ actor, params, query }) {
				const { rows, pagination } = await listTokensOf(needs, actor, params.id, query);
				return { tokens: rows.map(shown), pagination };
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/users/{id}/tokens/{token}",
			summary: "Revoke one of somebody's API tokens",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await revokeTokenOf(needs, actor, params.id, params.token);
				return { message: "token revoked" };
			},
		}),
	];
}
