import { formatDuration } from "@svc/protocol";
import * as v from "valibot";
import { publicRoute, type Route, route } from "../http/route.ts";
import { Instant, Uuid } from "../messages.ts";
import { MakerFields, makersOf, type NameNeeds } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { type ExchangeNeeds, exchangeJwt } from "./exchange.ts";
import { ExchangeJwt, SetTrust, type Trust } from "./model.ts";
import { deleteTrust, getTrust, listTrusts, setTrust, type TrustNeeds } from "./trusts.ts";

const TRUSTS = "/api/v1/realms/{slug}/machines/{name}/trusts";
const ONE = `${TRUSTS}/{trust}` as const;

const ListedSchema = v.object({
	id: Uuid,
	name: v.string(),
	type: v.string(),
	issuer: v.nullable(v.string()),
	trust_domain: v.nullable(v.string()),
	audience: v.string(),
	claims: v.record(v.string(), v.union([v.string(), v.boolean(), v.pipe(v.number(), v.safeInteger())])),
	max_ttl: v.string(),
	single_use: v.boolean(),
	keys_host: v.nullable(v.string()),
	created_by: Uuid,
	created_at: Instant,
});

/** Keys are long, so that lists go without them. */
const TrustSchema = v.object({
	...ListedSchema.entries,
	jwks: v.nullable(v.object({ keys: v.array(v.record(v.string(), v.unknown())) })),
	ca_cert: v.nullable(v.string()),
});

function listed({ machine_id: _, claims, max_ttl_ms, jwks: __, ca_cert: ___, ...trust }: Trust) {
	return { ...trust, claims: JSON.parse(claims) as object, max_ttl: formatDuration(max_ttl_ms) };
}

function shown(trust: Trust) {
	const { jwks, ca_cert } = trust;
	return { ...listed(trust), jwks: jwks === null ? null : (JSON.parse(jwks) as object), ca_cert };
}

/** Design: §15. */
export function trustRoutes(needs: TrustNeeds & ExchangeNeeds & NameNeeds): Route[] {
	return [exchangeRoute(needs), ...settingRoutes(needs), ...readingRoutes(needs)];
}

function exchangeRoute(needs: ExchangeNeeds): Route {
	return publicRoute({
		method: "POST",
		path: "/api/v1/auth/jwt",
		summary: "Exchange a JWT that a machine account trusts for an API token of it, for an hour at most",
		body: ExchangeJwt,
		status: 200,
		answer: v.object({ token: v.string(), expires_at: Instant }),
		errors: ["invalid_credentials", "rate_limited"],
		handle: ({ body, request_id, ip }) => exchangeJwt(needs, { request_id, ip }, body),
	});
}

function settingRoutes(needs: TrustNeeds): Route[] {
	return [
		route({
			method: "PUT",
			path: ONE,
			summary: "Let JWTs of an issuer in as a machine account; a trust of that name is replaced, and its tokens end",
			body: SetTrust,
			status: 200,
			answer: TrustSchema,
			errors: ["not_found", "invalid_ttl", "unsupported_operation", "conflict", "limit_reached"],
			handle: async ({ actor, params, body }) => shown(await setTrust(needs, actor, params, body)),
		}),
		route({
			method: "DELETE",
			path: ONE,
			summary: "Remove a trust of a machine account, and end the tokens that it gave",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found", "unsupported_operation"],
			async handle({ actor, params }) {
				await deleteTrust(needs, actor, params);
				return { message: "trust removed" };
			},
		}),
	];
}

function readingRoutes(needs: TrustNeeds & NameNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: TRUSTS,
			summary: "The trusts of a machine account",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({
				trusts: v.array(v.object({ ...ListedSchema.entries, ...MakerFields })),
				pagination: PaginationSchema,
			}),
			errors: ["not_found", "invalid_limit", "invalid_cursor"],
			async handle({ actor, params, query }) {
				const { rows, pagination } = await listTrusts(needs, actor, params, query);
				const maker = await makersOf(needs, rows);
				return { trusts: rows.map((row) => ({ ...listed(row), ...maker(row) })), pagination };
			},
		}),
		route({
			method: "GET",
			path: ONE,
			summary: "A trust of a machine account",
			status: 200,
			answer: v.object({ ...TrustSchema.entries, ...MakerFields }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				const trust = await getTrust(needs, actor, params);
				const maker = await makersOf(needs, [trust]);
				return { ...shown(trust), ...maker(trust) };
			},
		}),
	];
}
