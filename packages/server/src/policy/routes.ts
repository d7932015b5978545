import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Environment, Instant, RequiredText, Uuid } from "../messages.ts";
import { type NameNeeds, namesOf, PersonFields, prefixed, WithNames } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { type ExplainNeeds, explainAccess } from "./explain.ts";
import { CapabilityName, ChangeBinding, CreateBinding } from "./model.ts";
import {
	changeBinding,
	createBinding,
	deleteBinding,
	leaveRealm,
	listBindings,
	listRoles,
	type PolicyNeeds,
} from "./policy.ts";

const BindingSchema = v.object({
	user_id: Uuid,
	role: v.string(),
	granted_by: v.string(),
	created_at: Instant,
});

const GranterFields = { granted_by_email: PersonFields.email, granted_by_name: PersonFields.name };

const VerdictSchema = v.object({
	capability: v.string(),
	scope: v.string(),
	allowed: v.boolean(),
	reason: v.string(),
	command: v.string(),
});

/** Spec: API › Policy. */
export function policyRoutes(needs: PolicyNeeds & ExplainNeeds): Route[] {
	return [
		explainRoute(needs),
		route({
			method: "GET",
			path: "/api/v1/policy/roles",
			summary: "Roles and their capabilities",
			forMachines: true,
			status: 200,
			answer: v.object({ roles: v.array(v.object({ name: v.string(), capabilities: v.array(v.string()) })) }),
			handle: async ({ actor }) => ({ roles: await listRoles(needs, actor) }),
		}),
		route({
			method: "POST",
			path: "/api/v1/realms/{slug}/policy/bindings",
			summary: "Give a user a role in a realm",
			body: CreateBinding,
			status: 201,
			answer: v.object({ id: Uuid, realm_id: Uuid, ...BindingSchema.entries }),
			errors: ["invalid_role", "not_found", "conflict", "limit_reached"],
			handle: ({ actor, params, body }) => createBinding(needs, actor, params.slug, body),
		}),
		listRoute(needs),
		route({
			method: "PUT",
			path: "/api/v1/realms/{slug}/policy/bindings/{userID}",
			summary: "Give a user another role in a realm",
			body: ChangeBinding,
			status: 200,
			answer: v.object({ user_id: Uuid, role: v.string() }),
			errors: ["invalid_role", "not_found"],
			handle: ({ actor, params, body }) => changeBinding(needs, actor, params.slug, params.userID, body.role),
		}),
		route({
			method: "DELETE",
			path: "/api/v1/realms/{slug}/policy/bindings/{userID}",
			summary: "Remove a user's role in a realm",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await deleteBinding(needs, actor, params.slug, params.userID);
				return { message: "binding removed" };
			},
		}),
		leaveRoute(needs),
	];
}

function listRoute(needs: PolicyNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/realms/{slug}/policy/bindings",
		summary: "The users and their roles in a realm",
		query: v.object({ ...pageQuery(), names: WithNames }),
		status: 200,
		answer: v.object({
			bindings: v.array(v.object({ ...BindingSchema.entries, ...PersonFields, ...GranterFields })),
			pagination: PaginationSchema,
		}),
		errors: ["not_found", "invalid_limit", "invalid_cursor"],
		async handle({ actor, params, query }) {
			const { rows, pagination } = await listBindings(needs, actor, params.slug, query);
			const ids = query.names === "true" ? rows.flatMap(({ user_id, granted_by }) => [user_id, granted_by]) : [];
			const names = await namesOf(needs, ids);
			const bindings = rows.map(({ user_id, role, granted_by, created_at }) => ({
				...{ user_id, role, granted_by, created_at },
				...names.get(user_id),
				...prefixed("granted_by", names.get(granted_by)),
			}));
			return { bindings, pagination };
		},
	});
}

function leaveRoute(needs: PolicyNeeds): Route {
	return route({
		method: "POST",
		path: "/api/v1/realms/{slug}/leave",
		summary: "Remove the caller's own role in a realm",
		status: 200,
		answer: v.object({ message: v.string() }),
		errors: ["not_found", "conflict", "unsupported_operation"],
		async handle({ actor, params }) {
			await leaveRealm(needs, actor, params.slug);
			return { message: "binding removed" };
		},
	});
}

function explainRoute(needs: ExplainNeeds & NameNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/policy/explain",
		summary: "What a user may do in a realm, and why",
		query: v.object({
			realm: RequiredText,
			user: v.optional(RequiredText),
			capability: v.optional(CapabilityName),
			env: v.optional(Environment),
			names: WithNames,
		}),
		status: 200,
		answer: v.object({
			realm: v.string(),
			user_id: Uuid,
			...PersonFields,
			role: v.string(),
			is_owner: v.boolean(),
			instance_admin: v.boolean(),
			disabled: v.boolean(),
			token: v.nullable(
				v.object({
					scopes: v.string(),
					environment: v.string(),
					expires_at: v.union([Instant, v.literal("")]),
				}),
			),
			verdicts: v.array(VerdictSchema),
		}),
		errors: ["not_found", "invalid_environment", "validation_failed"],
		async handle({ actor, query: { realm, user, capability, env, names } }) {
			const answer = await explainAccess(needs, actor, { realm, user, capability, environment: env });
			const named = await namesOf(needs, names === "true" ? [answer.user_id] : []);
			return { ...answer, ...named.get(answer.user_id) };
		},
	});
}
