import { AppError } from "../errors.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { type AccessNeeds, authorize, requireScope } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { type AuditNeeds, type EventFilter, visibleTo } from "./audit.ts";
import type { NamedKeys } from "./key-parts.ts";
import type { ChainedEvent } from "./model.ts";

/** Filter of an export: events of a realm, or all that the caller may see, from one instant until before another. */
export type ExportFilter = Pick<EventFilter, "realm" | "since" | "until">;

/**
 * Reads one page of the log, oldest first, with the number, hash and previous hash that checking each event elsewhere takes. The last page ends with
 * the newest event at the time of the first, so that following the cursors ends however much happens meanwhile.
 * @throws AppError insufficient_scope
 * Design: §10
 */
export async function exportEvents(
	needs: AuditNeeds,
	actor: Actor,
	filter: ExportFilter,
	page: PageRequest,
): Promise<{ rows: ChainedEvent[]; pagination: Pagination }> {
	await requireScope(needs, actor, "read");
	const query = await visibleTo(needs, actor, filter);
	const { audit } = needs.store;
	let { position: last } = await audit.head();
	return readPage(needs.keyring.cursorKey(), page, {
		list: `export ${actor.user_id} ${JSON.stringify(filter)}`,
		read(position, limit) {
			const [after, end = last] = position?.split(" ") ?? [];
			last = end;
			return needs.long_questions.run(() => audit.export(query, { after, last }, limit), actor);
		},
		position: (event) => `${event.position} ${last}`,
		rest: (position) => `${position} ${last}`,
		count: () => needs.long_questions.run(() => audit.count(query), actor),
	});
}

/**
 * Finds the keys that the event of a bulk read refers to: the parts of a set, or the keys of a part.
 * @throws AppError insufficient_scope, forbidden, not_found (realm; or nothing of this hash is in it)
 * Design: §10
 */
export async function findKeys(
	needs: AuditNeeds & AccessNeeds,
	actor: Actor,
	slug: string,
	hash: string,
): Promise<NamedKeys> {
	const realm = await authorize(needs, actor, slug, { capability: "audit:read" });
	const found = await needs.long_questions.run(() => needs.store.audit.keys(realm.id, hash), actor);
	if (found === undefined) throw new AppError("not_found", "no event of the realm refers to these keys");
	return found;
}
