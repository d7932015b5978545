import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, errorMessage, Instant, instantOf, Uuid } from "../messages.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { type AuditNeeds, listEvents, namesOfActors, parseAnchor, verifyLog } from "./audit.ts";
import { eventId } from "./chain.ts";
import { RIGHT_KINDS } from "./comparison.ts";
import { exportEvents } from "./export.ts";

/** Events on a page when no limit is given. Spec: API › Limits. */
const USUAL_PAGE = 50;

/** Maximum number of differing rows listed. */
const MAX_DIFFERENCES = 100;

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

/** With `?names=true`, of those who have an account. Design: §15 */
const NamedSchema = v.object({
	...EventSchema.entries,
	email: v.optional(v.string()),
	name: v.optional(v.string()),
});

const SPAN = { since: v.optional(instantOf("since")), until: v.optional(instantOf("until")) };

const Anchor = v.object({
	seq: v.optional(
		v.pipe(
			v.string(),
			v.metadata({ type: "integer", minimum: 1, maximum: 999_999_999_999_999 }),
			v.regex(/^[1-9][0-9]{0,14}$/, errorMessage("validation_failed", "seq must be a whole number")),
			v.transform(Number),
		),
	),
	hash: v.optional(
		v.pipe(
			v.string(),
			v.regex(/^[0-9a-f]{64}$/, errorMessage("validation_failed", "hash must be 64 hexadecimal digits")),
		),
	),
});

/** Spec: API › Audit. Design: §10. */
export function auditRoutes(needs: AuditNeeds): Route[] {
	return [
		exportRoute(needs),
		route({
			method: "GET",
			path: "/api/v1/audit/events",
			summary: "The audit log, newest first",
			query: v.object({
				...{ realm: Filter, type: Filter, actor: Filter, key: Filter, token: Filter },
				...SPAN,
				names: v.optional(
					v.picklist(["true", "false"], errorMessage("validation_failed", "names must be true or false")),
					"false",
				),
				...pageQuery(USUAL_PAGE),
			}),
			status: 200,
			answer: v.object({ events: v.array(NamedSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "validation_failed"],
			async handle({ actor, query }) {
				const { limit, cursor, include_total, names, ...filter } = query;
				const { rows, pagination } = await listEvents(needs, actor, filter, { limit, cursor, include_total });
				const named = await namesOfActors(needs, names === "true" ? rows.map((row) => row.actor) : []);
				const events = rows.map((row) => {
					const { timestamp, type, actor, realm, data } = row;
					return { id: eventId(row.hash), timestamp, type, actor, realm, data, ...named.get(actor) };
				});
				return { events, pagination };
			},
		}),
		verifyRoute(needs),
	];
}

function verifyRoute(needs: AuditNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/audit/verify",
		summary: "Recompute the audit log's hash chain, and compare checkpoints and rows with it",
		query: Anchor,
		status: 200,
		answer: v.object({
			status: v.picklist(["intact", "altered", "truncated", "rows_differ"]),
			message: v.string(),
			events: Count,
			checkpoints: Count,
			anchored: v.boolean(),
			last_seq: Count,
			last_hash: v.string(),
			differing: Count,
			differences: v.array(
				v.object({
					kind: v.picklist(RIGHT_KINDS),
					id: v.string(),
					name: v.optional(v.string()),
					problem: v.picklist(["unknown", "ended", "changed", "missing"]),
					seq: v.optional(Count),
					since: v.optional(Instant),
				}),
			),
		}),
		async handle({ actor, query }) {
			const found = await verifyLog(needs, actor, parseAnchor(query.seq, query.hash));
			return {
				status: found.status,
				message: MESSAGES[found.status](found.seq ?? 0, found.differences.length),
				events: found.events,
				checkpoints: found.checkpoints,
				anchored: found.is_anchored,
				last_seq: found.last.seq,
				last_hash: found.last.hash.toString("hex"),
				differing: found.differences.length,
				differences: found.differences.slice(0, MAX_DIFFERENCES),
			};
		},
	});
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
		errors: ["invalid_limit", "invalid_cursor"],
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

const MESSAGES = {
	intact: () => "no event was altered; keep a checkpoint elsewhere to detect a log that was truncated",
	altered: (seq: number) => `the log was altered at event ${seq}: compare it with a backup`,
	truncated: (seq: number) =>
		`the log ends before event ${seq}, which a checkpoint covers: it was truncated or rolled back`,
	rows_differ: (_seq: number, count: number) =>
		`the log is intact, but ${count === 1 ? "one row grants" : `${count} rows grant`} something else than it says: another program altered the database`,
};
