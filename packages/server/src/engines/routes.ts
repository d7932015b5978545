import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { errorMessage, IfHealthy, Text } from "../messages.ts";
import { type ConfigScope, getConfig, pingEngine, removeConfig, setConfig } from "./config/config.ts";
import { type EngineNeeds, listEngines } from "./engines.ts";
import { issue } from "./issue.ts";
import { validate } from "./revoke.ts";

/** Any object: each engine defines what it takes and returns. */
const Anything = v.record(v.string(), v.unknown());

const EngineSchema = v.object({ type: v.string(), description: v.string(), capabilities: v.array(v.string()) });

/** Adds `connection`, the way to reach its system, to a credential's answer, besides the fields of the specification. */
const WithConnection = v.optional(
	v.picklist(["true", "false"], errorMessage("validation_failed", "connection must be true or false")),
);

const INVOCATION_ERRORS = [
	...["not_found", "unsupported_operation", "engine_error", "engine_not_configured", "engine_unavailable"],
	"rate_limited",
] as const;

/** Dependencies of invoking an engine, including delivery tracking. */
export interface EngineRouteNeeds extends EngineNeeds {
	/** Tracks the delivery of an answer with a credential. */
	delivery(lease_id: string, onAnswered: (listener: (isDelivered: boolean) => void) => void): void;
}

/** Spec: API › Engines. Design: §7.1. */
export function engineRoutes(needs: EngineRouteNeeds): Route[] {
	return [
		...invocationRoutes(needs),
		...configRoutes(needs, "/api/v1/engines/{type}/config", "for all realms", ({ type = "" }) => ({
			type,
			slug: undefined,
		})),
		...configRoutes(needs, "/api/v1/realms/{slug}/engines/{type}/config", "for one realm", ({ type = "", slug }) => ({
			type,
			slug,
		})),
	];
}

type Params = Partial<Record<"type" | "slug", string>>;

function invocationRoutes(needs: EngineRouteNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/engines",
			summary: "The engines",
			forMachines: true,
			status: 200,
			answer: v.object({ engines: v.array(EngineSchema) }),
			handle: async ({ actor }) => ({ engines: await listEngines(needs, actor) }),
		}),
		route({
			method: "POST",
			path: "/api/v1/realms/{slug}/engines/{type}/generate",
			summary: "Generate a value or a credential; X-Lease-Id has the lease's id",
			forMachines: true,
			query: v.object({ connection: WithConnection }),
			body: Anything,
			status: 200,
			answer: Anything,
			headers: ["X-Lease-Id"],
			errors: [...INVOCATION_ERRORS, "invalid_ttl", "lease_limit_reached"],
			async handle({ actor, params, query, body, headers, onAnswered }) {
				const with_connection = query.connection === "true";
				const { data, lease_id } = await issue(needs, actor, params.slug, params.type, body, with_connection);
				if (lease_id !== undefined) {
					headers["x-lease-id"] = lease_id;
					needs.delivery(lease_id, onAnswered);
				}
				return data;
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/realms/{slug}/engines/{type}/validate",
			summary: "Validate a value, or revoke a credential",
			forMachines: true,
			body: Anything,
			status: 200,
			answer: Anything,
			errors: [...INVOCATION_ERRORS, "conflict"],
			handle: ({ actor, params, body }) => validate(needs, actor, params.slug, params.type, body),
		}),
		route({
			method: "POST",
			path: "/api/v1/engines/{type}/ping",
			summary: "Test an engine and its target",
			query: v.object({ realm: v.optional(Text) }),
			status: 200,
			answer: v.object({ status: v.literal("healthy") }),
			errors: ["not_found", "engine_not_configured", "engine_unavailable"],
			handle: ({ actor, params, query }) => pingEngine(needs, actor, { type: params.type, slug: query.realm }),
		}),
	];
}

/** Makes the same three routes for the configuration of all realms and for a realm's own. */
function configRoutes(
	needs: EngineNeeds,
	path: string,
	whose: string,
	scopeOf: (params: Params) => ConfigScope,
): Route[] {
	const scope = (params: object) => scopeOf(params as Params);
	return [
		route({
			method: "GET",
			path,
			summary: `An engine's configuration ${whose}, secrets masked`,
			status: 200,
			answer: Anything,
			errors: ["not_found"],
			handle: ({ actor, params }) => getConfig(needs, actor, scope(params)),
		}),
		route({
			method: "PUT",
			path,
			summary: `Set an engine's configuration ${whose}`,
			query: IfHealthy,
			body: Anything,
			status: 200,
			answer: Anything,
			errors: ["not_found", "invalid_ttl", "conflict"],
			handle: ({ actor, params, query, body }) => setConfig(needs, actor, scope(params), body, query.if === "healthy"),
		}),
		route({
			method: "DELETE",
			path,
			summary: `Remove an engine's configuration ${whose}`,
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await removeConfig(needs, actor, scope(params));
				return { message: "configuration removed" };
			},
		}),
	];
}
