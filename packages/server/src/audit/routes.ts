import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Environment, errorMessage, Instant, instantOf, Uuid } from "../messages.ts";
import { NameFields, type NameNeeds, type Names, nameIn, namesOf, WithNames } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import type { AccessNeeds } from "../policy/authorize.ts";
import { type AuditNeeds, listEvents, type VerifyNeeds } from "./audit.ts";
import { eventId } from "./chain.ts";
import { exportEvents, findKeys } from "./export.ts";
import { peopleIn } from "./people.ts";
import { verifyRoute } from "./verify-route.ts";

/** Events on a page when no limit is given. Spec: API › Limits. */
const USUAL_PAGE = 50;

/** Bytes of a filter: an e-mail has at most 254 characters, which are four times as many bytes. */
const MAX_FILTER_BYTES = 1024;

const Filter = v.optional(
	v.pipe(
		v.string(),
		v.maxBytes(
			MAX_FILTER_BYTES,
			errorMessage("validation_failed", `a filter must be at most ${MAX_FILTER_BYTES} bytes`),
		),
	),
);

const EventSchema = v.object({
	id: Uuid,
	timestamp: Instant,
	type: v.string(),
	actor: v.string(),
	realm: v.string(),
	data: v.string(),
});

const NamedSchema = v.object({
	...EventSchema.entries,
	...NameFields,
	people: v.optional(v.record(v.string(), v.string())),
});

const SPAN = { since: v.optional(instantOf("since")), until: v.optional(instantOf("until")) };

/** Spec: API › Audit. Design: §10. */
export function auditRoutes(needs: VerifyNeeds & AccessNeeds & NameNeeds): Route[] {
	return [
		exportRoute(needs),
		route({
			method: "GET",
			path: "/api/v1/audit/events",
			summary: "The audit log, newest first",
			query: v.object({
				...{ realm: Filter, type: Filter, actor: Filter, machine: Filter, key: Filter, token: Filter },
				env: v.optional(Environment),
				...SPAN,
				names: WithNames,
				...pageQuery(USUAL_PAGE),
			}),
			status: 200,
			answer: v.object({ events: v.array(NamedSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "invalid_environment", "validation_failed", "rate_limited"],
			async handle({ actor, query }) {
				const { limit, cursor, include_total, names, env, ...rest } = query;
				const filter = { ...rest, environment: env };
				const { rows, pagination } = await listEvents(needs, actor, filter, { limit, cursor, include_total });
				const seen = names === "true" ? rows.flatMap(({ actor: by, data }) => [by, ...peopleIn(data)]) : [];
				const named = await namesOf(needs, seen);
				const events = rows.map((row) => {
					const { timestamp, type, actor: by, realm, data } = row;
					const people = names === "true" ? { people: namedIn(named, data) } : {};
					return { id: eventId(row.hash), timestamp, type, actor: by, realm, data, ...named.get(by), ...people };
				});
				return { events, pagination };
			},
		}),
		keysRoute(needs),
		verifyRoute(needs),
	];
}

/** Names the accounts that an event is about; undefined when there is none whose name is known. */
function namedIn(names: ReadonlyMap<string, Names>, data: string): Record<string, string> | undefined {
	const found = peopleIn(data).flatMap((id) => (names.has(id) ? [[id, nameIn(names, id)]] : []));
	return found.length === 0 ? undefined : Object.fromEntries(found);
}

const ChainedSchema = v.object({
	seq: Count,
	...EventSchema.entries,
	realm_id: v.string(),
	previous_hash: v.string(),
	hash: v.string(),
});

function exportRoute(needs: AuditNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/audit/export",
		summary: "The audit log, oldest first, with the hashes by which each event can be checked elsewhere",
		query: v.object({
			realm: Filter,
			...SPAN,
			...pageQuery(USUAL_PAGE),
		}),
		status: 200,
		answer: v.object({ events: v.array(ChainedSchema), pagination: PaginationSchema }),
		errors: ["invalid_limit", "invalid_cursor", "rate_limited"],
		async handle({ actor, query }) {
			const { realm, since, until, ...page } = query;
			const { rows, pagination } = await exportEvents(needs, actor, { realm, since, until }, page);
			const events = rows.map(({ hash, previous_hash, position: _, ...event }) => ({
				...event,
				id: eventId(hash),
				previous_hash: previous_hash.toString("hex"),
				hash: hash.toString("hex"),
			}));
			return { events, pagination };
		},
	});
}

function keysRoute(needs: AuditNeeds & AccessNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/realms/{slug}/audit/keys/{keys}",
		summary: "The keys that the event of a bulk read refers to: the parts of its key_set, or the keys of a part",
		status: 200,
		answer: v.object({ parts: v.optional(v.array(v.string())), keys: v.optional(v.array(v.string())) }),
		errors: ["not_found", "rate_limited"],
		handle: ({ actor, params }) => findKeys(needs, actor, params.slug, params.keys),
	});
}
