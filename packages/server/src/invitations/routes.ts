import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Instant, Uuid } from "../messages.ts";
import { MakerFields, makersOf, type NameNeeds } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { createInvitation, deleteInvitation, type InvitationNeeds, listInvitations } from "./invitations.ts";
import { CreateInvitation, type InvitationWithRoles } from "./model.ts";

const InvitationSchema = v.object({
	id: Uuid,
	email: v.string(),
	bindings: v.array(v.object({ realm: v.string(), role: v.string() })),
	created_by: Uuid,
	created_at: Instant,
	expires_at: Instant,
});

function shown({ id, email, bindings, created_by, created_at, expires_at }: InvitationWithRoles) {
	const roles = bindings.map(({ realm, role }) => ({ realm, role }));
	return { id, email, bindings: roles, created_by, created_at, expires_at };
}

/** Design: §15. */
export function invitationRoutes(needs: InvitationNeeds & NameNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/invitations",
			summary: "Invite somebody to make an account, with roles in realms; the code is shown once and valid for 7 days",
			body: CreateInvitation,
			status: 201,
			answer: v.object({ ...InvitationSchema.entries, code: v.string() }),
			errors: ["not_found", "invalid_role", "unsupported_operation", "conflict", "limit_reached"],
			async handle({ actor, body }) {
				const { code, ...invitation } = await createInvitation(needs, actor, body);
				return { ...shown(invitation), code };
			},
		}),
		route({
			method: "GET",
			path: "/api/v1/invitations",
			summary: "The open invitations of the caller, or of everybody for the instance admin",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({
				invitations: v.array(v.object({ ...InvitationSchema.entries, ...MakerFields })),
				pagination: PaginationSchema,
			}),
			errors: ["invalid_limit", "invalid_cursor"],
			async handle({ actor, query }) {
				const { rows, pagination } = await listInvitations(needs, actor, query);
				const maker = await makersOf(needs, rows);
				return { invitations: rows.map((row) => ({ ...shown(row), ...maker(row) })), pagination };
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/invitations/{id}",
			summary: "End an invitation",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found", "unsupported_operation"],
			async handle({ actor, params }) {
				await deleteInvitation(needs, actor, params.id);
				return { message: "invitation deleted" };
			},
		}),
	];
}
