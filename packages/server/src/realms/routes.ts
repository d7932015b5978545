import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Instant, Uuid } from "../messages.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { CreateRealm } from "./model.ts";
import { createRealm, deleteRealm, getRealm, listRealms, type RealmNeeds } from "./realms.ts";

const RealmSchema = v.object({
	id: Uuid,
	slug: v.string(),
	name: v.string(),
	description: v.string(),
	user_id: Uuid,
	created_at: Instant,
});

/** Spec: API › Realms. */
export function realmRoutes(needs: RealmNeeds): Route[] {
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
			path: "/api/v1/realms",
			summary: "The realms that the caller can use",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({
				realms: v.array(v.pick(RealmSchema, ["id", "slug", "name", "created_at"])),
				pagination: PaginationSchema,
			}),
			errors: ["invalid_limit", "invalid_cursor"],
			async handle({ actor, query }) {
				const { rows, pagination } = await listRealms(needs, actor, query);
				return { realms: rows.map(({ id, slug, name, created_at }) => ({ id, slug, name, created_at })), pagination };
			},
		}),
		route({
			method: "GET",
			path: "/api/v1/realms/{slug}",
			summary: "A realm",
			status: 200,
			answer: RealmSchema,
			errors: ["not_found"],
			handle: ({ actor, params }) => getRealm(needs, actor, params.slug),
		}),
		route({
			method: "DELETE",
			path: "/api/v1/realms/{slug}",
			summary: "Delete a realm and everything in it",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await deleteRealm(needs, actor, params.slug);
				return { message: "realm deleted" };
			},
		}),
	];
}
