import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, errorMessage, Instant, RequiredText, Text, Uuid } from "../messages.ts";
import { NameFields, type NameNeeds, namesOf, WithNames } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import {
	AbandonLease,
	abandonLease,
	getLease,
	listAllLeases,
	listRealmLeases,
	resumeLeases,
	revokeLease,
	revokeLeases,
} from "./leases.ts";
import { LEASE_STATES, type ListedLease } from "./model.ts";

const State = v.picklist(
	LEASE_STATES,
	errorMessage("validation_failed", `state must be one of ${LEASE_STATES.join(", ")}`),
);

const LeaseSchema = v.object({
	id: Uuid,
	realm: v.string(),
	engine: v.string(),
	role: v.string(),
	name: v.string(),
	state: State,
	user_id: v.string(),
	created_at: Instant,
	expires_at: Instant,
	attempts: Count,
	last_error: v.string(),
	altered: v.boolean(),
});

/** Design: §7.1, §13. The realm's slug is ours: the list of all realms would not say whose a lease is. */
function shown(lease: ListedLease) {
	const { id, realm, engine, role, name, state, user_id, created_at, expires_at, attempts, last_error, altered } =
		lease;
	return { id, realm, engine, role, name, state, user_id, created_at, expires_at, attempts, last_error, altered };
}

/** Shows leases with the names of those who asked for them, if wanted. A lease's own name stays. */
async function listed(
	needs: NameNeeds,
	{ rows, pagination }: Awaited<ReturnType<typeof listAllLeases>>,
	names: string,
) {
	return { leases: await named(needs, rows, names), pagination };
}

async function named(needs: NameNeeds, rows: readonly ListedLease[], names: string) {
	const found = await namesOf(needs, names === "true" ? rows.map(({ user_id }) => user_id) : []);
	const who = (id: string) => ({ email: found.get(id)?.email, machine: found.get(id)?.machine });
	return rows.map((row) => ({ ...shown(row), ...who(row.user_id) }));
}

const Query = v.object({ ...pageQuery(), engine: v.optional(Text), state: v.optional(State), names: WithNames });
const NamedSchema = v.object({ ...LeaseSchema.entries, email: NameFields.email, machine: NameFields.machine });
const Page = v.object({
	leases: v.array(NamedSchema),
	pagination: PaginationSchema,
});
const Message = v.object({ message: v.string() });

const REVOKED = "lease revoked";
const QUEUED =
	"the target is unreachable or refuses: the server keeps trying until the credential is gone; the lease's last_error says why";

type LeaseRouteNeeds = Parameters<typeof listAllLeases>[0] & Parameters<typeof resumeLeases>[0] & NameNeeds;

/** Design: §7.1. */
export function leaseRoutes(needs: LeaseRouteNeeds): Route[] {
	return [...realmLeaseRoutes(needs), ...instanceLeaseRoutes(needs)];
}

function realmLeaseRoutes(needs: LeaseRouteNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/realms/{slug}/leases",
			summary: "The leases of a realm, newest first",
			forMachines: true,
			query: Query,
			status: 200,
			answer: Page,
			errors: ["not_found", "invalid_limit", "invalid_cursor", "rate_limited"],
			async handle({ actor, params, query }) {
				return listed(needs, await listRealmLeases(needs, actor, params.slug, query), query.names);
			},
		}),
		route({
			method: "GET",
			path: "/api/v1/realms/{slug}/leases/{id}",
			summary: "A lease",
			forMachines: true,
			status: 200,
			query: v.object({ names: WithNames }),
			answer: NamedSchema,
			errors: ["not_found"],
			async handle({ actor, params, query }) {
				const [lease] = await named(needs, [await getLease(needs, actor, params.slug, params.id)], query.names);
				return lease;
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/realms/{slug}/leases/{id}",
			summary: "Revoke a lease: 202 when its target is away",
			forMachines: true,
			status: 200,
			other: { status: 202, when: (answer) => (answer as { message: string }).message === QUEUED },
			answer: Message,
			errors: ["not_found", "conflict"],
			async handle({ actor, params }) {
				const outcome = await revokeLease(needs, actor, params.slug, params.id);
				return { message: outcome === "done" ? REVOKED : QUEUED };
			},
		}),
	];
}

function instanceLeaseRoutes(needs: LeaseRouteNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/leases",
			summary: "The leases of all realms, newest first",
			query: Query,
			status: 200,
			answer: Page,
			errors: ["invalid_limit", "invalid_cursor", "rate_limited"],
			async handle({ actor, query }) {
				return listed(needs, await listAllLeases(needs, actor, query), query.names);
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/leases/revoke",
			summary: "Revoke all leases of a realm, a user or an engine",
			body: v.object({
				realm: v.nullish(RequiredText),
				user_id: v.nullish(RequiredText),
				engine: v.nullish(RequiredText),
			}),
			status: 200,
			answer: v.object({ count: Count }),
			errors: ["not_found"],
			async handle({ actor, body: { realm, user_id, engine } }) {
				const selection = { realm: realm ?? undefined, user_id: user_id ?? undefined, engine: engine ?? undefined };
				return { count: await revokeLeases(needs, actor, selection) };
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/leases/resume",
			summary: "Allow creating and revoking credentials again, after a restore",
			status: 200,
			answer: Message,
			async handle({ actor }) {
				return { message: (await resumeLeases(needs, actor)) ? "leases resumed" : "leases were not paused" };
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/leases/{id}/abandon",
			summary: "Abandon a lease that cannot be revoked",
			body: AbandonLease,
			status: 200,
			answer: Message,
			errors: ["not_found", "conflict"],
			async handle({ actor, params, body }) {
				await abandonLease(needs, actor, params.id, body.reason);
				return { message: "lease abandoned" };
			},
		}),
	];
}
