import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, errorMessage, Instant } from "../messages.ts";
import { parseAnchor, type Verification, type VerifyNeeds, verifyLog } from "./audit.ts";
import { MAKER_KINDS, RIGHT_KINDS } from "./comparison.ts";

/** Maximum number of differing rows, and of strange events, listed. */
const MAX_LISTED = 100;

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

/** An event of somebody who was not there. */
const StrangeEvent = v.object({
	seq: Count,
	timestamp: Instant,
	type: v.string(),
	kind: v.picklist(MAKER_KINDS),
	id: v.string(),
	problem: v.picklist(["ended", "unknown"]),
	ended_by: v.optional(Count),
	since: v.optional(Instant),
});

/** Messages by status. */
const MESSAGES: Readonly<Record<Verification["status"], (found: Verification) => string>> = {
	intact: () => "no event was altered; keep a checkpoint elsewhere to detect a log that was truncated",
	altered: ({ seq }) => `the log was altered at event ${seq}: compare it with a backup`,
	truncated: ({ seq }) =>
		`the log ends before event ${seq}, which a checkpoint covers: it was truncated or rolled back`,
	rows_differ: ({ differences: { length } }) =>
		`the log is intact, but ${length === 1 ? "one row grants" : `${length} rows grant`} something other than it says: another program altered the database`,
	events_differ: ({ strange: { length } }) =>
		`the log is intact, but ${length === 1 ? "one event names" : `${length} events name`} an account, token or session that did not exist: another program had altered the database`,
	rows_altered: ({ altered }) => `the log is intact, but another program altered the database: ${altered.join(", ")}`,
};

/** Spec: API › Audit. Design: §10. */
export function verifyRoute(needs: VerifyNeeds): Route {
	return route({
		method: "GET",
		path: "/api/v1/audit/verify",
		summary: "Recompute the audit log's hash chain, and compare checkpoints and rows with it",
		query: Anchor,
		status: 200,
		answer: v.object({
			status: v.picklist(["intact", "altered", "truncated", "rows_differ", "events_differ", "rows_altered"]),
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
			strange: v.array(StrangeEvent),
			altered: v.array(v.string()),
			named_from: v.optional(Count),
		}),
		errors: ["rate_limited"],
		async handle({ actor, query }) {
			const found = await verifyLog(needs, actor, parseAnchor(query.seq, query.hash));
			return {
				status: found.status,
				message: MESSAGES[found.status](found),
				events: found.events,
				checkpoints: found.checkpoints,
				anchored: found.is_anchored,
				last_seq: found.last.seq,
				last_hash: found.last.hash.toString("hex"),
				differing: found.differences.length,
				differences: found.differences.slice(0, MAX_LISTED),
				strange: found.strange.slice(0, MAX_LISTED),
				altered: found.altered,
				named_from: found.named_from?.seq,
			};
		},
	});
}
