import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Deleted, Instant, Uuid } from "../messages.ts";
import { DeleterFields, namesOf, OwnerFields, prefixed, WithNames } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import type { QuestionNeeds } from "../semaphore.ts";
import { changeRealm } from "./change.ts";
import { listDeletedRealms, restoreRealm } from "./deletion.ts";
import { ChangeRealm, CreateRealm, RestoreRealm } from "./model.ts";
import { createRealm, deleteRealm, getRealm, listRealms, type RealmNeeds } from "./realms.ts";

const RealmSchema = v.object({
	id: Uuid,
	slug: v.string(),
	name: v.string(),
	description: v.string(),
	user_id: Uuid,
	created_at: Instant,
});

/** A realm of the list: the owner with `?names=true` or when it is deleted, and the fields after that when it is deleted. */
const ListedSchema = v.object({
	...v.pick(RealmSchema, ["id", "slug", "name", "created_at"]).entries,
	user_id: v.optional(Uuid),
	...OwnerFields,
	deleted_by: v.optional(v.string()),
	...DeleterFields,
	deleted_at: v.optional(Instant),
	purge_at: v.optional(Instant),
});

/** Spec: API › Realms. */
export function realmRoutes(needs: RealmNeeds & QuestionNeeds): Route[] {
	return [...living(needs), listRoute(needs), ...deletion(needs)];
}

function living(needs: RealmNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/realms",
			summary: "Create a realm",
			body: CreateRealm,
			status: 201,
			answer: RealmSchema,
			errors: ["invalid_slug", "conflict", "limit_reached"],
			handle: ({ actor, body }) => createRealm(needs, actor, body),
		}),
		route({
			method: "GET",
			path: "/api/v1/realms/{slug}",
			summary: "A realm",
			forMachines: true,
			query: v.object({ names: WithNames }),
			status: 200,
			answer: v.object({ ...RealmSchema.entries, ...OwnerFields }),
			errors: ["not_found"],
			async handle({ actor, params, query }) {
				const realm = await getRealm(needs, actor, params.slug);
				const names = await namesOf(needs, query.names === "true" ? [realm.user_id] : []);
				return { ...realm, ...prefixed("owner", names.get(realm.user_id)) };
			},
		}),
		route({
			method: "PUT",
			path: "/api/v1/realms/{slug}",
			summary: "Change a realm's name, description or owner",
			body: ChangeRealm,
			status: 200,
			answer: RealmSchema,
			errors: ["not_found", "conflict", "unsupported_operation", "limit_reached"],
			handle: ({ actor, params, body }) => changeRealm(needs, actor, params.slug, body),
		}),
	];
}

function listRoute(needs: RealmNeeds & QuestionNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/realms",
		summary: "The realms that the caller can use, or those that they can restore",
		forMachines: true,
		query: v.object({ deleted: Deleted, ...pageQuery(), names: WithNames }),
		status: 200,
		answer: v.object({ realms: v.array(ListedSchema), pagination: PaginationSchema }),
		errors: ["invalid_limit", "invalid_cursor", "rate_limited"],
		async handle({ actor, query }) {
			if (query.deleted === "true") {
				const { rows, pagination } = await listDeletedRealms(needs, actor, query);
				return { realms: rows, pagination };
			}
			const { rows, pagination } = await listRealms(needs, actor, query);
			const isNamed = query.names === "true";
			const names = await namesOf(needs, isNamed ? rows.map(({ user_id }) => user_id) : []);
			const realms = rows.map(({ id, slug, name, created_at, user_id }) => ({
				...{ id, slug, name, created_at },
				...(isNamed && { user_id, ...prefixed("owner", names.get(user_id)) }),
			}));
			return { realms, pagination };
		},
	});
}

function deletion(needs: RealmNeeds): Route[] {
	return [
		route({
			method: "DELETE",
			path: "/api/v1/realms/{slug}",
			summary: "Delete a realm and everything in it; it can be restored for 30 days",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await deleteRealm(needs, actor, params.slug);
				return { message: "realm deleted" };
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/realms/{slug}/restore",
			summary: "Bring a deleted realm back with its bindings and secrets",
			body: RestoreRealm,
			status: 200,
			answer: RealmSchema,
			errors: ["invalid_slug", "not_found", "conflict"],
			handle: ({ actor, params, body }) => restoreRealm(needs, actor, params.slug, body),
		}),
	];
}
